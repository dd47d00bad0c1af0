"""The documentation's copy of a finished run.

``python -m fabcost.paper.report.docs DIR`` takes results and figures from a directory
that `fabcost reproduce` wrote; without DIR, pages are written anew from the results that are
there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fabcost.paper.report import markdown, results

RESULTS = Path("docs/measurements/reproduction/results.json")
PAGE = Path("docs/measurements/reproduction.md")
IMAGES = Path("docs/images")
README = Path("README.md")

_NEEDED = ("command", "settings", "claims", "parts", "scale")


def take(run: Path, root: Path, *, memory: str | None = None) -> None:
    """Copy results and figures of the run to the checkout at ``root``.

    Parameters
    ----------
    memory
        The most that all processes of the run had at a time, if somebody looked.
    """
    content = results.digest(_read(run / "results.json"), markdown.shown_parts())
    drawn = {name: (run / "figures" / f"{name}.png").read_bytes() for name in markdown.SHOWN}
    if memory is not None:
        content["settings"]["Peak memory"] = memory
    (root / RESULTS).parent.mkdir(parents=True, exist_ok=True)
    (root / RESULTS).write_text(_lines(content), encoding="utf-8")
    (root / IMAGES).mkdir(parents=True, exist_ok=True)
    for name, figure in drawn.items():
        (root / IMAGES / f"reproduction-{name}.png").write_bytes(figure)


def write(root: Path) -> None:
    """Write the page and the README's block from the results at ``root``."""
    content = _read(root / RESULTS)
    readme = (root / README).read_text(encoding="utf-8")
    changed = markdown.put(readme, markdown.block(content))
    (root / PAGE).write_text(markdown.page(content), encoding="utf-8")
    (root / README).write_text(changed, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the root of a checkout."""
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}", description=__doc__)
    parser.add_argument("run", type=Path, nargs="?", help="what fabcost reproduce --out wrote")
    parser.add_argument("--memory", help="the run's peak of memory, as in '1.5 GB'")
    given = parser.parse_args(arguments)
    try:
        if given.run is not None:
            take(given.run, Path(), memory=given.memory)
        write(Path())
    except (OSError, ValueError) as error:
        parser.error(str(error))
    sys.stdout.write(f"Written: {PAGE}, {README}\n")


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    missing = [name for name in _NEEDED if name not in content]
    if missing:
        raise ValueError(
            f"{path} has no {', '.join(missing)}: it was written by another version; "
            "fabcost reproduce writes it anew, from the units that it finds"
        )
    return content


def _lines(content: Mapping[str, Any]) -> str:
    """JSON with a line for each entry, so that changes can be read."""
    entries = [f"{json.dumps(name)}: {_entry(each)}" for name, each in content.items()]
    return "{\n" + ",\n".join(entries) + "\n}\n"


def _entry(value: Any) -> str:
    if isinstance(value, list):
        return "[\n" + ",\n".join(map(_dumped, value)) + "\n]"
    return _dumped(value)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


if __name__ == "__main__":
    main()
