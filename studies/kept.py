"""Work in several processes whose results are kept: a stopped run goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rich.progress import track

Piece = tuple[str | int, ...]


class Kept:
    """Results by piece of work, in a file of JSON lines if there is one.

    Examples
    --------
    >>> Kept(workers=1).results(abs, [])
    []
    """

    def __init__(self, path: Path | None = None, *, workers: int = 2) -> None:
        self.path, self.workers = path, workers
        lines = path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []
        self.known: dict[Piece, Any] = {
            tuple(piece): found for piece, found in map(json.loads, lines)
        }

    def results(self, function: Callable[[Piece], Any], pieces: Sequence[Piece]) -> list[Any]:
        """What the function makes of each piece, as JSON has it, or what is known of it."""
        left = [piece for piece in dict.fromkeys(pieces) if piece not in self.known]
        if left:
            with ProcessPoolExecutor(self.workers, mp_context=get_context("spawn")) as pool:
                found = zip(left, pool.map(function, left), strict=True)
                for piece, result in track(found, "measuring", len(left)):
                    self._keep(piece, result)
        return [self.known[piece] for piece in pieces]

    def _keep(self, piece: Piece, result: Any) -> None:
        line = json.dumps([piece, result])
        self.known[piece] = json.loads(line)[1]
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
