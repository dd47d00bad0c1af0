"""Which extras are missing, and how to install them, from a clone as well as from a wheel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import filterfalse

#: Packages by the extra that has them; what another extra has, too, is named with the first.
PACKAGES = {
    "reports": ("matplotlib", "pyarrow", "rich", "typer"),
    "service": (
        *("httptools", "httpx", "msgspec", "prometheus_client", "psycopg", "pyarrow", "rich"),
        *("structlog", "swagger_ui", "typer", "uvicorn"),
    ),
    "nuts": ("arviz", "nutpie"),
    "river": ("river",),
    "scale": ("dask", "distributed", "pyarrow", "rich", "typer"),
}
_OF_LOGS_AND_MODELS = ("create-model", "export-log", "import-log")
_OF_SERVICE = ("serve", "keys", "demo", "doctor", "backup", "restore", *_OF_LOGS_AND_MODELS)


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
    found = {extra: list(filterfalse(_is_installed, PACKAGES[extra])) for extra in extras}
    return {extra: names for extra, names in found.items() if names}


@contextmanager
def told_what_is_missing(what: str, *extras: str) -> Iterator[None]:
    """Turn the import of a package that is not installed into a `MissingExtraError`.

    It names all that is missing of these extras at once, and the extra of the package, if it is
    in none of them.  Imports of other packages fail as ever.

    Examples
    --------
    >>> with told_what_is_missing("a report", "reports"):
    ...     import json
    """
    try:
        yield
    except ModuleNotFoundError as error:
        absent = str(error.name).partition(".")[0]
        owners = [extra for extra in PACKAGES if absent in PACKAGES[extra]]
        if not owners:
            raise
        wanted = extras if {*extras} & {*owners} else (*extras, owners[0])
        lacking = missing(*wanted) or {owners[0]: [absent]}
        raise MissingExtraError(needs(what, lacking)) from error


def check(command: str) -> None:
    """Raise a `MissingExtraError` if a command lacks something, before it has begun.

    Examples
    --------
    >>> check("serve")
    """
    if lacking := missing(*of_command(command)):
        raise MissingExtraError(needs(f"fabcost {command}", lacking))


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
    """The commands that install extras: of the package, and of a clone.

    Examples
    --------
    >>> install(["nuts"])
    "pip install 'fabcost[nuts]' (in a clone: pip install '.[nuts]')"
    """
    listed = ",".join(extras)
    return f"pip install 'fabcost[{listed}]' (in a clone: pip install '.[{listed}]')"


def of_command(name: str, *options: str) -> tuple[str, ...]:
    """The extras that a command of the command line needs.

    Examples
    --------
    >>> of_command("serve"), of_command("tour")
    (('service',), ('nuts', 'reports'))
    """
    if name in _OF_SERVICE:
        return ("service",)
    if name == "fit" and any(option.startswith(("--dask", "--scheduler")) for option in options):
        return ("scale",)
    return ("nuts", "reports") if name in {"tour", "reproduce"} else ("reports",)


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):  # kept from being imported
        return False
