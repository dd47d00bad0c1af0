"""Which rule decides best: ``python -m studies.rules``.

Every finished game is a line of a file, so that a run can be stopped and taken up.  The two halves
take the better part of an hour of one processor, the grid of rules, learners and priors a good half
of one.  What was not played again is kept as the page has it, and the page says so.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.progress import track

from studies.documents import write_page
from studies.rules.games import played, read
from studies.rules.grid import games as grid
from studies.rules.page import page
from studies.rules.plan import choosing, confirming

PARTS = {"choosing": choosing, "confirming": confirming, "grid": grid}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m studies.rules", description=__doc__)
    parser.add_argument("--games", type=Path, default=Path("rules.jsonl"), help="finished ones")
    parser.add_argument("--part", choices=(*PARTS,), help="only this one")
    parser.add_argument("--as-it-is", action="store_true", help="play no more games")
    parser.add_argument("--docs", action="store_true", help="write measurements/rules.md")
    return parser.parse_args()


def main() -> None:
    options = _arguments()
    finished = read(options.games)
    wanted = [options.part] if options.part else list(PARTS)
    games = [game for part in wanted for game in PARTS[part]()]
    left = [game for game in games if game not in finished]
    playing = played([] if options.as_it_is else left, options.games)
    for _ in track(playing, "playing", total=len(left), console=Console(stderr=True)):
        pass
    text = page(read(options.games))
    print(f"wrote {write_page('rules.md', text)}" if options.docs else text)


if __name__ == "__main__":
    main()
