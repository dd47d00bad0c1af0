"""The optional packages that a reproduction needs, looked for before any work."""

from __future__ import annotations

from importlib.util import find_spec

EXTRAS = {
    "nuts": ("arviz", "nutpie"),
    "reports": ("matplotlib", "pyarrow", "rich", "typer"),
}


class MissingExtraError(ImportError):
    """An optional package is not installed; the message says how to install it."""


def require(extras: dict[str, tuple[str, ...]] = EXTRAS) -> None:
    """Raise `MissingExtraError` unless every package of ``extras`` can be imported.

    Examples
    --------
    >>> require({"nuts": ("json",)})
    >>> require({"nuts": ("json", "no_such_package")})
    Traceback (most recent call last):
    fabcost.paper.engine.extras.MissingExtraError: no_such_package is missing: \
pip install 'fabcost[nuts]'
    """
    missing = {
        extra: [name for name in names if find_spec(name) is None]
        for extra, names in extras.items()
    }
    packages = [name for names in missing.values() for name in names]
    if packages:
        install = ",".join(extra for extra, names in missing.items() if names)
        verb = "is" if len(packages) == 1 else "are"
        raise MissingExtraError(
            f"{' and '.join(packages)} {verb} missing: pip install 'fabcost[{install}]'"
        )
