"""Policies side by side on one log, by the paper's replay: many seeds, paired."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from fabcost.impressions import FloatArray
from fabcost.inference.forgetting import HalfLife, as_half_life
from fabcost.offline.logs.rounds import groups_of
from fabcost.offline.methods import LEARNERS, OWNING, WEIGHING, Contender, contender, contenders
from fabcost.offline.processes import SPAWN, workers
from fabcost.offline.replay.protocol import replay
from fabcost.prior import Prior

Advance = Callable[[int], None]
IntArray = npt.NDArray[np.intp]

DEFAULT_POLICIES = ("fabcost", "laplace", "uniform")
MOST_POINTS = 1000
_FRACTIONS = (100, 30, 10, 3, 1)
_EARLIEST = 10
_LOOK_EVERY_SECONDS = 0.2
_ROUNDING = 1e-9


@dataclass(frozen=True)
class ReplaySettings:
    """What is replayed."""

    policies: tuple[str, ...] = DEFAULT_POLICIES  # names for `contender`
    # The one that others are compared with; None is laplace if it is there, else the last.
    against: str | None = None
    # Seeds ``first_seed``, ``first_seed + 1``, …: under the same seed all policies break ties
    # alike and see the same random numbers.
    seeds: int = 20
    first_seed: int = 0
    rounds: int | None = None  # impressions to show; None is all
    # Of the weights, by what their columns stand for.
    prior: Prior = Prior()  # noqa: RUF009 - a frozen value
    half_life: float | None = None

    def __post_init__(self) -> None:
        if not self.policies:
            raise ValueError("there are no policies but must be at least one")
        as_half_life(self.half_life)
        if not self.seeds >= 1:
            raise ValueError(f"seeds is {self.seeds} but must be at least 1")
        if self.baseline not in contenders(self.policies):
            shown = ", ".join(contenders(self.policies))
            raise ValueError(f"against is {self.against!r} but the policies are {shown}")

    @property
    def baseline(self) -> str:
        """The name of the policy that the others are compared with."""
        names = list(contenders(self.policies))
        if self.against is not None:
            return contender(self.against)[0]
        return "laplace" if "laplace" in names else names[-1]

    def rounds_of(self, impressions: int) -> int:
        """How many rounds there are on a log of so many impressions."""
        rounds = impressions if self.rounds is None else self.rounds
        if not 1 <= rounds <= impressions:
            raise ValueError(f"rounds is {rounds} but there are {impressions} impressions to show")
        return rounds


@dataclass(frozen=True, eq=False)
class Replays:
    """Clicks of every policy with every seed."""

    marks: IntArray  # the rounds at which clicks were counted, the last one included
    clicks: dict[str, FloatArray]  # for each policy, seeds × marks
    baseline: str  # the policy that the others are compared with
    income: Replays | None = None  # likewise what came in, where clicks have values or costs

    def at(self, rounds: Iterable[int]) -> Replays:
        """The same at some of the marks only."""
        places = np.searchsorted(self.marks, list(rounds))
        clicks = {name: values[:, places] for name, values in self.clicks.items()}
        income = None if self.income is None else self.income.at(rounds)
        return Replays(self.marks[places], clicks, self.baseline, income)


def checkpoints(rounds: int) -> list[int]:
    """Rounds at which to compare: a hundredth, a thirtieth, … and all, but none before 10.

    Examples
    --------
    >>> checkpoints(3000)
    [30, 100, 300, 1000, 3000]
    >>> checkpoints(60)
    [20, 60]
    """
    found = {rounds // part for part in _FRACTIONS}
    return sorted(each for each in found if each >= _EARLIEST or each == rounds)


def marks(rounds: int, wanted: Iterable[int] = ()) -> IntArray:
    """At most 1,000 rounds that show a curve's beginning and its course, and those wanted.

    Examples
    --------
    >>> marks(4), marks(678_446).size <= MOST_POINTS
    (array([1, 2, 3, 4]), True)
    """
    if rounds <= MOST_POINTS:
        return np.arange(1, rounds + 1)
    half = MOST_POINTS // 2 - len(_FRACTIONS)
    spread = [np.geomspace(1, rounds, half), np.linspace(1, rounds, half)]
    chosen = np.concatenate([*spread, checkpoints(rounds), np.array(list(wanted), dtype=float)])
    return np.unique(np.rint(chosen).astype(np.intp))


def measure(
    X: FloatArray,
    y: FloatArray,
    settings: ReplaySettings,
    *,
    jobs: int = 1,
    advance: Advance = lambda _: None,
    at: Iterable[int] = (),
    items: IntArray | None = None,
    weight: FloatArray | None = None,
    amounts: tuple[FloatArray, FloatArray] | None = None,
    times: FloatArray | None = None,
) -> Replays:
    """Replay the log under every policy and every seed, on ``jobs`` processes.

    The result does not depend on ``jobs``.  ``advance`` is told how many rounds went by, and
    clicks are counted at the rounds ``at`` beside `marks`.  With ``items``, whose each impression
    is, those have effects of their own under the learners that know them; ``weight`` is how much
    each counts for a learner, which must know of that.  With ``amounts``, the value of a click on
    each and the cost of showing it, rules compare what impressions are worth, and income is counted
    besides.  With ``times`` rounds come at these, in order, and a half-life is in seconds of them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(50, 2)), (rng.random(50) < 0.3).astype(float)
    >>> found = measure(X, y, ReplaySettings(("adf", "uniform"), seeds=2, rounds=30))
    >>> found.clicks["adf"].shape, found.baseline
    ((2, 30), 'uniform')
    """
    rounds = settings.rounds_of(y.size)
    counted = marks(rounds, at)
    players = contenders(settings.policies)
    for name, each in players.items() if weight is not None else ():
        if each.learner not in WEIGHING:
            raise ValueError(f"policy {name} learns every impression alike: it has no weights")
    seeds = range(settings.first_seed, settings.first_seed + settings.seeds)
    common = (rounds, settings.prior, settings.half_life)
    tasks = [_Task(each, seed, *common) for seed in seeds for each in players.values()]
    none = np.empty(0, dtype=np.intp) if items is None else items
    worth = (np.empty(0), np.empty(0)) if amounts is None else amounts
    given = [np.empty(0) if each is None else each for each in (weight, times)]
    shared = _Shared(X, y, counted, none, given[0], given[1], *worth)
    curves = np.array(_play_all(shared, tasks, jobs=jobs, advance=advance), dtype=np.float64)
    shaped = curves.reshape(settings.seeds, len(players), -1, counted.size)
    clicks, *income = (
        {name: shaped[:, place, what] for place, name in enumerate(players)}
        for what in range(shaped.shape[2])
    )
    base = settings.baseline
    incomes = Replays(counted, _settled(income[0], base), base) if income else None
    return Replays(counted, clicks, base, incomes)


def _settled(income: dict[str, FloatArray], baseline: str) -> dict[str, FloatArray]:
    """What differs from the baseline only by the order of its sum does not differ."""
    base = income[baseline]
    same = {name: np.abs(each - base) <= _ROUNDING * np.abs(base) for name, each in income.items()}
    return {name: np.where(same[name], base, each) for name, each in income.items()}


class _Shared(NamedTuple):
    """What all replays have in common: the log, and the rounds at which clicks are counted.

    There are no ``items`` if nothing is known of them, and no ``weight`` if all are alike; no
    ``times`` where none are told, nor ``value`` and ``cost`` where clicks alone count.
    """

    X: FloatArray
    y: FloatArray
    marks: IntArray
    items: IntArray
    weight: FloatArray
    times: FloatArray
    value: FloatArray
    cost: FloatArray


class _Task(NamedTuple):
    """One replay."""

    contender: Contender
    seed: int
    rounds: int
    prior: Prior
    half_life: float | None


def _play_all(
    shared: _Shared, tasks: Sequence[_Task], *, jobs: int, advance: Advance
) -> list[FloatArray]:
    """Clicks at the marks for each task, in the order of the tasks.

    Every replay has one thread for its linear algebra wherever it runs, so that its bits do not
    depend on ``jobs``.
    """
    if not jobs >= 1:
        raise ValueError(f"jobs is {jobs} but must be at least 1")
    if min(jobs, len(tasks)) == 1:
        with threadpool_limits(1):
            return [_played(shared, task, advance) for task in tasks]
    with tempfile.TemporaryDirectory(prefix="fabcost-") as folder:
        for name, array in shared._asdict().items():
            np.save(Path(folder, f"{name}.npy"), array)
        return _played_side_by_side(folder, tasks, min(jobs, len(tasks)), advance)


def _played(shared: _Shared, task: _Task, advance: Advance) -> FloatArray:
    """Clicks at the marks, and income where there is some."""
    told = 0

    def progress(rounds: int) -> None:
        nonlocal told
        advance(rounds - told)
        told = rounds

    name, belief = task.contender.learner, task.prior.belief(groups_of(shared.X))
    own: dict[str, Any] = {}
    if name in OWNING:
        variance = task.prior.items if shared.items.size else 0.0
        own = {"own_variance": variance, "half_life": task.half_life}
        if shared.times.size and task.half_life is not None:
            own["half_life"] = HalfLife(task.half_life, "seconds")
    shown = replay(
        shared.X,
        shared.y,
        LEARNERS[name](belief, **own),
        policy=task.contender.policy,
        rng=np.random.default_rng(task.seed),
        rounds=task.rounds,
        progress=progress,
        items=shared.items if shared.items.size else None,
        weight=shared.weight if shared.weight.size else None,
        values=shared.value if shared.value.size else None,
        costs=shared.cost if shared.value.size else None,
        at=shared.times if shared.times.size else None,
    )
    progress(task.rounds)
    counts = [shown.clicks]
    if shared.value.size:
        income = shared.value[shown.order] * shown.clicked - shared.cost[shown.order]
        counts.append(np.cumsum(income))
    return np.array(counts, dtype=np.float64)[:, shared.marks - 1]


def _played_side_by_side(
    folder: str, tasks: Sequence[_Task], jobs: int, advance: Advance
) -> list[FloatArray]:
    counter = SPAWN.Value("q", 0)
    with workers(jobs, _Worker.start, folder, counter) as pool:
        running = [pool.submit(_Worker.play, task) for task in tasks]
        _watch(running, counter, advance)
        return [each.result() for each in running]


def _watch(running: Sequence[Future[FloatArray]], counter: Any, advance: Advance) -> None:
    """Tell of progress until all is done; the first failure is raised at once."""
    told, pending = 0, set(running)
    while pending:
        done, pending = wait(pending, _LOOK_EVERY_SECONDS, FIRST_COMPLETED)
        for each in done:
            each.result()
        advance(counter.value - told)
        told = counter.value


class _Worker:
    """What a process keeps between its replays."""

    shared: _Shared
    counter: Any

    @classmethod
    def start(cls, folder: str, counter: Any) -> None:
        # As plain arrays: indexing a memmap object is several times slower.
        arrays = (
            np.asarray(np.load(Path(folder, f"{name}.npy"), mmap_mode="r"))
            for name in _Shared._fields
        )
        cls.shared, cls.counter = _Shared(*arrays), counter

    @classmethod
    def play(cls, task: _Task) -> FloatArray:
        def advance(rounds: int) -> None:
            with cls.counter.get_lock():
                cls.counter.value += rounds

        return _played(cls.shared, task, advance)
