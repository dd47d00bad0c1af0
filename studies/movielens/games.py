"""Rounds played by everybody who chooses, and the clicks they had."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from fabcost.impressions import FloatArray
from studies.kept import Kept, Piece
from studies.movielens.choosers import choosers
from studies.movielens.rounds import read, rounds

CHECKPOINTS = (300, 1_000, 2_500, 5_000)


def play(folder: Path, count: int, piece: Piece) -> list[float]:
    """Clicks of a group's setting on a seed, after each checkpoint."""
    group, name, seed = str(piece[0]), str(piece[1]), int(piece[2])
    chooser, won = choosers()[group][name](seed), np.zeros(count)
    for k, given in enumerate(rounds(read(folder), count, seed)):
        chosen = chooser.choose(given)
        won[k] = given.clicks[chosen]
        chooser.learn(given, chosen, bool(won[k]))
    reached = [each for each in CHECKPOINTS if each <= count]
    return [float(each) for each in won.cumsum()[np.array(reached) - 1]]


class Games:
    """Clicks of settings, played or known."""

    def __init__(self, folder: Path, kept: Kept, count: int = CHECKPOINTS[-1]) -> None:
        self._play, self._kept = partial(play, folder, count), kept

    def clicks(self, settings: Sequence[tuple[str, str]], seeds: Iterable[int]) -> FloatArray:
        """By setting, seed and checkpoint; all settings play a seed before the next one's turn."""
        pieces = [(*setting, seed) for seed in seeds for setting in settings]
        found = np.array(self._kept.results(self._play, pieces))
        return found.reshape(-1, len(settings), found.shape[1]).transpose(1, 0, 2)

    def best(self, group: str, names: Sequence[str], seeds: Iterable[int]) -> str:
        """The setting with most clicks in the end."""
        if len(names) == 1:
            return names[0]
        last = self.clicks([(group, name) for name in names], seeds)[:, :, -1]
        return names[int(last.sum(axis=1).argmax())]
