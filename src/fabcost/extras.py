"""Which extras are missing, and how to install them, from a clone as well as from a wheel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

#: Packages by the extra that has them; what another extra has, too, is named with the first.
PACKAGES = {
    "reports": ("matplotlib", "pyarrow", "rich", "threadpoolctl", "typer"),
    "service": (
        "httptools",
        "httpx",
        "msgspec",
        "prometheus_client",
        "psycopg",
        "pyarrow",
        "rich",
        "structlog",
        "typer",
        "uvicorn",
    ),
    "nuts": ("arviz", "nutpie"),
    "scale": ("dask", "distributed"),
}


class MissingExtraError(ImportError):
    """Something needs packages that are not installed; the message says which, and how to.

    Examples
    --------
    >>> issubclass(MissingExtraError, ImportError)
    True
    """


def missing(*extras: str) -> dict[str, list[str]]:
    """The packages of these extras that are not installed, by extra.

    Examples
    --------
    >>> missing("reports")
    {}
    """
    found = {
        extra: [name for name in PACKAGES[extra] if find_spec(name) is None] for extra in extras
    }
    return {extra: names for extra, names in found.items() if names}


@contextmanager
def told_what_is_missing(what: str, *extras: str) -> Iterator[None]:
    """Turn the import of a package that is not installed into a `MissingExtraError`.

    It names all that is missing of these extras at once.  Other imports that fail do so as ever.

    Examples
    --------
    >>> with told_what_is_missing("a report", "reports"):
    ...     import json
    """
    try:
        yield
    except ModuleNotFoundError as error:
        absent = str(error.name).partition(".")[0]
        if absent not in {name for extra in extras for name in PACKAGES[extra]}:
            raise
        here = {extra: [absent] for extra in extras if absent in PACKAGES[extra]}
        lacking = missing(*extras) or here
        raise MissingExtraError(needs(what, lacking)) from error


def needs(what: str, lacking: dict[str, list[str]]) -> str:
    """The sentence about packages that are missing, by extra.

    Examples
    --------
    >>> needs("fabcost serve", {"service": ["uvicorn"]}).partition(":")[0]
    "fabcost serve needs the extra 'service' (uvicorn is missing)"
    """
    names = list(dict.fromkeys(name for some in lacking.values() for name in some))
    kind = "extra" if len(lacking) == 1 else "extras"
    listed, verb = ", ".join(names), "is" if len(names) == 1 else "are"
    which = " and ".join(map(repr, lacking))
    return f"{what} needs the {kind} {which} ({listed} {verb} missing): {install(lacking)}"


def install(extras: Iterable[str]) -> str:
    """The command that installs extras: of the clone that is run, or of the package.

    Examples
    --------
    >>> install(["nuts"]).endswith("[nuts]'")
    True
    """
    clone = Path(__file__).resolve().parents[2]
    is_clone = (clone / "pyproject.toml").is_file() and (clone / "src" / "fabcost").is_dir()
    source = f"--editable '{clone}" if is_clone else "'fabcost"
    return f"pip install {source}[{','.join(extras)}]'"


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):  # kept from being imported
        return False
