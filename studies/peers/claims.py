"""What the comparison with other libraries claims, from all that was measured."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fabcost.impressions import FloatArray
from studies.claims import Claim
from studies.peers.measure import Clocks, Shares
from studies.peers.settings import HUGE, LARGE, OURS, RIVAL, SETTINGS, SMALL
from studies.timing import as_text

_DECIDE, _UPDATE = 15.0, 20.0


@dataclass
class Found:
    """All measurements, by the number of a setting and of items."""

    rounds: int
    shares: Shares = field(default_factory=dict)
    clocks: Clocks = field(default_factory=dict)

    def paired(self, items: int, *numbers: int) -> FloatArray:
        """The shares of some settings (columns) on the seeds (rows) that all of them played."""
        runs = [self.shares[number, items] for number in numbers]
        common = sorted(set.intersection(*(set(run) for run in runs)))
        return np.array([[run[seed] for run in runs] for seed in common])


def claims_of(found: Found) -> list[Claim]:
    """The claims, in the order of the report."""
    return [
        _faster(found, HUGE, "decide", _DECIDE),
        _faster(found, SMALL, "update", _UPDATE),
        _closer(found, SMALL),
        _closer(found, LARGE),
    ]


def _faster(found: Found, items: int, call: str, required: float) -> Claim:
    """Ours beside the fastest way to use the rival as it comes."""
    ours = getattr(found.clocks[_defaults(OURS)[0], items], call)
    theirs, rival = min(
        (getattr(found.clocks[number, items], call), number) for number in _defaults(RIVAL)
    )
    detail = f"{as_text(ours)} against {as_text(theirs)} ({SETTINGS[rival].family})"
    return Claim(
        f"{call}, K = {items:,}, beside {RIVAL}", theirs / ours, "at least", required, detail
    )


def _closer(found: Found, items: int) -> Claim:
    """Our share beside that of the best peer as it comes, on the seeds both played."""
    best = _best_peer(found, items)
    pairs = found.paired(items, _defaults(OURS)[0], best)
    ours, theirs = pairs.mean(axis=0).round(4).tolist()
    detail = f"{SETTINGS[best].policy}; difference {_difference(pairs)}"
    what = f"share of the oracle gap, K = {items}, beside the best peer as it comes"
    return Claim(what, ours, "at least", theirs, detail, unit="")


def _best_peer(found: Found, items: int) -> int:
    """The peer of the largest share as it comes, on the seeds that all peers played."""
    peers = [
        number
        for number, setting in enumerate(SETTINGS)
        if setting.library != OURS and setting.default and (number, items) in found.shares
    ]
    return peers[int(found.paired(items, *peers).mean(axis=0).argmax())]


def _difference(pairs: FloatArray) -> str:
    gaps = pairs[:, 0] - pairs[:, 1]
    return f"{gaps.mean():+.4f} ± {error(gaps):.4f} (s.e., {len(gaps)} paired seeds)"


def error(values: FloatArray) -> float:
    """The standard error of the mean; unknown from one value."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def _defaults(library: str) -> list[int]:
    return [i for i, each in enumerate(SETTINGS) if each.library == library and each.default]
