"""What a run has around it: the packages that it needs, its version, commit and machine."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from fabcost import __version__
from fabcost.extras import MissingExtraError, install

EXTRAS = {"nuts": ("arviz", "nutpie"), "reports": ("matplotlib", "pyarrow", "rich", "typer")}
_PACKAGES = ("numpy", "scipy", "numba", "nutpie", "matplotlib")


def require(extras: Mapping[str, tuple[str, ...]] = EXTRAS) -> None:
    """Raise an ImportError unless every package of ``extras`` can be imported.

    Examples
    --------
    >>> require({"nuts": ("json",)})
    >>> try:
    ...     require({"nuts": ("json", "no_such_package")})
    ... except ImportError as error:
    ...     str(error).partition(":")[0]
    'no_such_package is missing'
    """
    packages = [(name, extra) for extra, names in extras.items() for name in names]
    missing = {name: extra for name, extra in packages if find_spec(name) is None}
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        how = install(dict.fromkeys(missing.values()))
        raise MissingExtraError(f"{' and '.join(missing)} {verb} missing: {how}")


def describe() -> dict[str, str]:
    """Version, commit, machine and the packages that matter, for people to read.

    Examples
    --------
    >>> sorted(describe())
    ['commit', 'fabcost', 'machine', 'packages']
    """
    packages = [f"{name} {metadata.version(name)}" for name in _PACKAGES]
    return {
        "fabcost": __version__,
        "commit": _commit(Path(__file__).parent),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()}",
        "packages": ", ".join([f"Python {platform.python_version()}", *packages]),
    }


def _commit(place: Path) -> str:
    """The commit that is checked out at ``place``, and whether files differ from it."""
    commit = _git(place, "rev-parse", "--short=12", "HEAD")
    if commit is None or _git(place, "ls-files", "--error-unmatch", "__init__.py") is None:
        return "not from a git checkout"
    changed = _git(place, "status", "--porcelain", "--", "../..")
    return f"{commit} with changes" if changed else commit


def _git(place: Path, *arguments: str) -> str | None:
    try:
        command = ["git", "-C", str(place), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _processor() -> str:
    """Linux has the name that people know in a file only."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
