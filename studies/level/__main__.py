"""Why Laplace is level on real logs: ``python -m studies.level``.

Every finished game is a line of a file, so that a run can be stopped and taken up.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.progress import track

from studies.documents import write_page
from studies.level.games import SEEDS, played, read
from studies.level.report import page


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m studies.level", description=__doc__)
    parser.add_argument("--games", type=Path, default=Path("level.jsonl"), help="finished ones")
    parser.add_argument("--docs", action="store_true", help="write measurements/level.md")
    return parser.parse_args()


def main() -> None:
    options = _arguments()
    playing = played(options.games, SEEDS)
    for _ in track(playing, "playing", total=len(SEEDS), console=Console(stderr=True)):
        pass
    text = page(read(options.games))
    print(f"wrote {write_page('level.md', text)}" if options.docs else text)


if __name__ == "__main__":
    main()
