"""How large a reproduction is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Sizes of every part; ``name`` is the one on the command line."""

    name: str
    day_rows: int  # impressions of the simulated day of car adverts (15 covariates)
    posterior_sizes: tuple[int, ...]  # where marginals are drawn; the last is the whole day
    convergence_sizes: tuple[int, ...]  # where errors are measured
    streams: int  # independent data sets behind each point of the convergence figure
    draws: int  # of NUTS
    truth_draws: int  # of importance sampling on the day; the easier design takes a quarter
    fitted_from: int  # impressions from which on rates of convergence are fitted
    ep_batch: int  # impressions after which a method that works in batch is run again
    bandit_seeds: int  # paired replays of each policy
    bandit_rounds: int  # of each replay
    whole_day: bool  # whether replays are also run to the last impression
    timed_rows: int  # impressions on which costs are measured
    timed_widths: tuple[int, ...]  # numbers of weights with which their growth is measured


QUICK = Scale(
    name="quick",
    day_rows=30_000,
    posterior_sizes=(1_000, 3_000, 10_000, 30_000),
    convergence_sizes=(100, 300, 1_000, 3_000, 10_000, 30_000),
    streams=4,
    draws=1_000,
    truth_draws=64_000,
    fitted_from=1_000,
    ep_batch=1_000,
    bandit_seeds=8,
    bandit_rounds=1_500,
    whole_day=False,
    timed_rows=20_000,
    timed_widths=(48, 96, 192),
)
PAPER = Scale(
    name="paper",
    day_rows=678_446,
    posterior_sizes=(1_000, 10_000, 50_000, 678_446),
    convergence_sizes=(100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000),
    streams=12,
    draws=4_000,
    truth_draws=160_000,
    fitted_from=1_000,
    ep_batch=5_000,
    bandit_seeds=30,
    bandit_rounds=31_000,
    whole_day=True,
    timed_rows=678_446,
    timed_widths=(48, 96, 192),
)
SCALES = {scale.name: scale for scale in (QUICK, PAPER)}


def find(name: str) -> Scale:
    """The scale of that name.

    Examples
    --------
    >>> find("paper").day_rows
    678446
    """
    if name not in SCALES:
        raise ValueError(f"scale is {name!r} but must be one of {', '.join(SCALES)}")
    return SCALES[name]
