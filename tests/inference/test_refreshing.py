"""A refresh that is spread over calls: the same bits as one at once, at a stated impression."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabcost import (
    BayesianLogisticRegression,
    FabCost,
    Gaussian,
    Recommender,
    Refresh,
    Schema,
    estimator,
    kernels,
)
from fabcost.inference import passes
from fabcost.inference.history import History
from fabcost.inference.refreshing import MOST_WORK
from fabcost.inference.saved import file as learner_file
from fabcost.inference.sparse import memory
from fabcost.inference.sparse.memory import Pages
from tests.inference.bits import data

WEIGHTS, ROWS = 3, 60
X, Y = data(ROWS, WEIGHTS + 2)
ITEMS = [None if k % 9 == 5 else f"ad-{k * k % 7}" for k in range(ROWS)]
NEVER = Refresh.at(10**9)

#: What a learner may be beside its prior; and whether what it filters meanwhile is simple to tell.
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "most kept": {"most_kept": 11},
    "half-life": {"half_life": 400.0},
    "own effects": {"own_variance": 1.5},
    "MacKay": {"moments": "mackay"},
    "all": {"most_kept": 17, "half_life": 400.0, "own_variance": 0.5},
}

pytestmark = pytest.mark.filterwarnings("ignore::fabcost.inference.result.ConvergenceWarning")


def bits_of(learner: FabCost) -> tuple[Any, ...]:
    """All that goes on from here, but for what says how refreshes are spread."""
    belief, own, sites = learner.posterior, learner.own, learner.sites
    effects = None if own is None else (own.keys, own.rows.tobytes())
    counted = (learner.seen, learner.skipped, learner.refreshes, learner.unconverged, learner.kept)
    arrays = (belief.mean, belief.root, *sites)
    return (*(each.tobytes() for each in arrays), effects, *counted)


class Twin:
    """The same by the rules that are stated: refreshes at once, and what was believed before."""

    def __init__(self, refresh: Refresh, visits: int, *, copying: int = 0, **variant: Any) -> None:
        self.copying = copying
        prior = Gaussian.isotropic(WEIGHTS, variance=4.0)
        self.refresh, self.visits = refresh, visits
        self.next = refresh.next_after(0)
        self.after = FabCost(prior, refresh=NEVER, most_work=None, **variant)
        self.before: FabCost | None = None
        self.ends = 0

    def tell(self, what: Any) -> None:
        """Change the learner, and what goes on without the refresh."""
        what(self.after)
        if self.before is not None:
            what(self.before)

    def observe(self, *row: Any, **more: Any) -> None:
        self.tell(lambda learner: learner.observe(*row, **more))
        seen = self.after.seen
        if self.before is not None and seen == self.ends:
            self.before = None
        if seen == self.next:
            self._begin(seen)

    def _begin(self, seen: int) -> None:
        before = copy.deepcopy(self.after)
        visits = self.after.kept * self.after.refresh(max_sweeps=self.refresh.max_sweeps).sweeps
        in_a_call = max(3, self.visits * WEIGHTS**2 // self.after.prior.dimension**2)
        if self.after.kept > in_a_call:
            visits += self.copying * in_a_call
        calls = 0 if visits <= in_a_call else math.ceil(visits / (in_a_call - 1))
        due = self.refresh.next_after(seen)
        self.next = due if due is None else max(due, seen + 3 * calls)
        if calls:
            self.before, self.ends = before, seen + calls

    @property
    def learner(self) -> FabCost:
        return self.after if self.before is None else self.before


@pytest.fixture
def lagging(monkeypatch: pytest.MonkeyPatch) -> int:
    """Small roots lag behind as large ones do; calls in which a belief is copied."""
    monkeypatch.setattr(passes, "LARGE", 2)
    return kernels.LAG


def spread_learner(refresh: Refresh, visits: int, **variant: Any) -> FabCost:
    prior = Gaussian.isotropic(WEIGHTS, variance=4.0)
    return FabCost(prior, refresh=refresh, most_work=visits * WEIGHTS**2, **variant)


def again(learner: FabCost) -> FabCost:
    return learner_file.from_bytes(learner_file.to_bytes(learner))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("sweeps", [1, 4])
def test_outcome_is_that_of_a_refresh_at_once(variant: str, sweeps: int) -> None:
    """After every impression: before, while and after two refreshes are under way."""
    refresh = Refresh.at(13, 37, max_sweeps=sweeps)
    visits = 1 + 4 * sweeps
    spread = spread_learner(refresh, visits, **VARIANTS[variant])
    twin = Twin(refresh, visits, **VARIANTS[variant])
    under_way = 0
    for x, y, item in zip(X[:, :WEIGHTS], Y, ITEMS, strict=True):
        spread.observe(x, y, item)
        twin.observe(x, y, item)
        assert spread.refreshing == (twin.before is not None)
        under_way += spread.refreshing
        if spread.refreshing or twin.next is not None:
            assert_equal(spread, twin)
    assert under_way > 4
    assert spread.refreshes == 2
    assert spread.posterior.mean.tobytes() == twin.after.posterior.mean.tobytes()


def assert_equal(spread: FabCost, twin: Twin) -> None:
    """The belief that is served, and that which is to come if one is under way."""
    if not spread.refreshing:
        assert bits_of(spread) == bits_of(twin.after)
        return
    forgets_items = spread.half_life is not None and spread.own is not None
    if not forgets_items:
        assert spread.posterior.mean.tobytes() == twin.learner.posterior.mean.tobytes()
        assert spread.posterior.root.tobytes() == twin.learner.posterior.root.tobytes()
    ahead = copy.deepcopy(spread)
    ahead.finish()
    if twin.next is not None:
        assert bits_of(ahead) == bits_of(twin.after)
    assert spread.refreshing


def looked(learner: FabCost) -> FabCost:
    assert learner.sites.precision.size == learner.kept
    return learner


AGAIN: dict[str, Callable[[FabCost], FabCost]] = {
    "saved": again,
    "copied": copy.deepcopy,
    "looked": looked,
}


def actions() -> st.SearchStrategy[list[tuple[str, int]]]:
    """What is done one after another, with a number that each makes something of."""
    kinds = ("one", "one", "many", "weight", "tally", "grow", "forget", "saved", "copied", "looked")
    return st.lists(st.tuples(st.sampled_from(kinds), st.integers(1, 9)), min_size=20, max_size=40)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    actions(),
    st.sampled_from([name for name in VARIANTS if name != "MacKay"]),
    st.integers(2, 9),
    st.integers(1, 3),
)
def test_whatever_happens_meanwhile(
    acts: list[tuple[str, int]], variant: str, visits: int, sweeps: int
) -> None:
    """Batches, weights, growth, items forgotten, files, copies and looks do not change a bit."""
    refresh = Refresh.at(9, 30, 10**6, max_sweeps=sweeps)
    spread = spread_learner(refresh, visits, **VARIANTS[variant])
    twin = Twin(refresh, visits, **VARIANTS[variant])
    rows = iter(zip(X, Y, ITEMS, strict=True))
    for act, number in acts:
        if act in AGAIN:
            spread = AGAIN[act](spread)
        elif act in ("grow", "forget"):
            _change(spread, act, number)
            twin.tell(lambda learner, act=act, number=number: _change(learner, act, number))
        else:
            _learn(spread, twin, rows, act, number)
        assert spread.refreshing == (twin.before is not None)
    spread.finish()
    assert bits_of(spread) == bits_of(twin.after)


def _change(learner: FabCost, act: str, number: int) -> None:
    if act == "forget":
        learner.forget([f"ad-{number % 7}"])
    elif learner.prior.dimension < WEIGHTS + 2:
        learner.grow(0.5 * number)


def _learn(spread: FabCost, twin: Twin, rows: Iterator[Any], act: str, number: int) -> None:
    weights = spread.prior.dimension
    some = [next(rows, None) for _ in range(number if act == "many" else 1)]
    batch = [(x[:weights], y, item) for x, y, item in (each for each in some if each is not None)]
    weight = {"weight": 0.5 * number} if act == "weight" else {}
    if act == "many" and batch:
        spread.observe_many(*(list(column) for column in zip(*batch, strict=True)))
    for x, y, item in batch:
        if act != "many":
            spread.observe(x, y, item, **weight)
        twin.observe(x, y, item, **weight)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dense", [True, False])
def test_roots_that_lag_behind_have_the_same_bits(
    variant: str, dense: bool, lagging: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where rows are sparse, and a look lets all of the root take all steps."""
    weights = 21
    rows, labels = data(150, weights)
    if not dense:
        rows[np.arange(weights) % 7 != np.arange(150)[:, None] % 7] = 0.0
    items = [f"ad-{k * k % 7}" for k in range(150)]
    prior = Gaussian.isotropic(weights, variance=4.0)
    schedule = Refresh.at(40, 10**6, max_sweeps=2)
    learners = [FabCost(prior, refresh=schedule, most_work=9_000, **VARIANTS[variant])]
    monkeypatch.setattr(passes, "LARGE", 10**9)
    learners.append(FabCost(prior, refresh=schedule, most_work=None, **VARIANTS[variant]))
    for each in learners:
        for k, (x, y, item) in enumerate(zip(rows, labels, items, strict=True)):
            each.observe(x, y, item, weight=1.0 if k % 10 or variant == "MacKay" else 2.5)
            if k % 60 == 59:
                assert each.posterior.dimension == weights
        each.finish()
    assert learners[0]._lag is not None
    assert learners[1]._lag is None
    assert bits_of(learners[0]) == bits_of(learners[1])


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_large_beliefs_are_copied_first(batch: int, lagging: int) -> None:
    """In calls in which nothing is visited; growth and copies of a half copied one included."""
    refresh = Refresh.at(40, 10**6)
    spread, twin = spread_learner(refresh, 6), Twin(refresh, 6, copying=lagging)
    rows, labels = data(300, WEIGHTS)
    for start in range(0, 300, batch):
        spread.observe_many(rows[start : start + batch], labels[start : start + batch])
        if batch < 300 and start % 5 == 0:
            spread = copy.deepcopy(spread)
    for x, y in zip(rows, labels, strict=True):
        twin.observe(x, y)
    assert (spread.refreshing, twin.before is not None) == (False, False)
    assert bits_of(spread) == bits_of(twin.after)
    assert twin.ends > 40 + lagging


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_geometric_schedules_rest_between_refreshes(batch: int) -> None:
    X, Y = data(300, WEIGHTS)
    refresh = Refresh.geometric(1.1)
    spread, twin = spread_learner(refresh, 4), Twin(refresh, 4)
    for start in range(0, 300, batch):
        spread.observe_many(X[start : start + batch], Y[start : start + batch])
    for x, y in zip(X, Y, strict=True):
        twin.observe(x, y)
    assert spread.refreshing == (twin.before is not None)
    spread.finish()
    assert bits_of(spread) == bits_of(twin.after)
    assert spread.refreshes < 25


def test_a_call_makes_no_more_visits_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [0]
    visit, filtered = kernels.ep_visits, kernels.adf_pass

    def counted(*given: Any) -> Any:
        made[0] += given[7] - given[6]
        return visit(*given)

    def counted_filter(*given: Any) -> Any:
        made[0] += given[7] - given[6]
        return filtered(*given)

    monkeypatch.setattr(kernels, "ep_visits", counted)
    monkeypatch.setattr(kernels, "adf_pass", counted_filter)
    spread = spread_learner(Refresh.at(40, 10**6, max_sweeps=2), 6)
    calls = []
    for x, y in zip(X[:, :WEIGHTS], Y, strict=True):
        made[0] = 0
        spread.observe(x, y)
        calls.append(made[0])
    assert spread.refreshes == 1
    assert max(calls) <= 6 + 1  # and the impression itself
    assert max(calls[40:56]) == 7


def test_bad_batch_changes_nothing_while_a_refresh_is_under_way() -> None:
    prior = Gaussian.isotropic(WEIGHTS)
    schedule = Refresh.at(20, 10**6)
    learner = FabCost(prior, refresh=schedule, most_work=45, own_variance=1.0)
    learner.observe_many(X[:25, :WEIGHTS], Y[:25], ITEMS[:25])
    assert learner.refreshing
    before = bits_of(learner)
    wrong: list[Any] = [*ITEMS[25:59], 1.5]
    with pytest.raises(ValueError, match="must be a string or an integer"):
        learner.observe_many(X[25:, :WEIGHTS], Y[25:], wrong)
    assert bits_of(learner) == before


def test_explicit_refresh_ends_the_one_under_way() -> None:
    schedule = Refresh.at(20, 10**6)
    spread, twin = spread_learner(schedule, 3), Twin(schedule, 3)
    for x, y in zip(X[:25, :WEIGHTS], Y[:25], strict=True):
        spread.observe(x, y)
        twin.observe(x, y)
    assert spread.refreshing
    assert spread.refresh() == twin.after.refresh()
    assert not spread.refreshing
    assert bits_of(spread) == bits_of(twin.after)


def test_replaced_prior_ends_the_one_under_way() -> None:
    schedule = Refresh.at(20, 10**6)
    spread, twin = spread_learner(schedule, 3), Twin(schedule, 3)
    for x, y in zip(X[:25, :WEIGHTS], Y[:25], strict=True):
        spread.observe(x, y)
        twin.observe(x, y)
    assert spread.refreshing
    for learner in (spread, twin.after):
        assert learner.replace_prior(Gaussian.isotropic(WEIGHTS, variance=1.0))
    assert bits_of(spread) == bits_of(twin.after)


def test_all_at_once_and_what_fits() -> None:
    for most_work in (None, 40 * WEIGHTS**2):
        learner = FabCost(
            Gaussian.isotropic(WEIGHTS), refresh=Refresh.at(40, max_sweeps=1), most_work=most_work
        )
        learner.observe_many(X[:40, :WEIGHTS], Y[:40])
        assert (learner.refreshes, learner.refreshing) == (1, False)
    with pytest.raises(ValueError, match="most_work is 0"):
        FabCost(Gaussian.isotropic(2), most_work=0)


def test_files_say_how_much_work_a_call_may_do() -> None:
    for most_work in (None, 7, MOST_WORK, 24_000_000):
        learner = FabCost(Gaussian.isotropic(1), most_work=most_work)
        assert again(learner).most_work == most_work
        assert ("most_work" in learner.state()[0]) == (most_work != 24_000_000)


@pytest.mark.parametrize(
    ("spoilt", "complaint"),
    [({"ends": 3}, "ends is 3"), ({"visits": 1}, "visits is 1"), ({"own": {}}, "keys")],
)
def test_files_of_a_refresh_under_way_are_checked(spoilt: dict[str, Any], complaint: str) -> None:
    learner = spread_learner(Refresh.at(20, 10**6), 3)
    learner.observe_many(X[:25, :WEIGHTS], Y[:25])
    document, arrays = learner.state()
    document["served"] |= spoilt
    with pytest.raises(ValueError, match=complaint):
        FabCost.restored(document, arrays)


def test_recommender_goes_on_from_its_file() -> None:
    """Its features grow, and it is saved, while refreshes are under way."""
    ends = []
    for saves in (False, True):
        recommender = Recommender(Schema.open(scaled=False), seed=5)
        assert isinstance(recommender.learner, FabCost)
        recommender.learner.most_work = 200
        seen = 0
        for visit in range(80):
            context = {"device": ("mobile", "desktop")[visit % 2], "hour": f"h{visit % 7}"}
            items = {f"ad-{k}": {"make": f"m{k % (1 + visit // 9)}"} for k in range(9)}
            decision = recommender.recommend(context, items)
            recommender.feedback(decision.id, clicked=visit % 5 == 1)
            assert isinstance(recommender.learner, FabCost)
            seen += recommender.learner.refreshing
            if saves and visit % 3 == 0:
                recommender = Recommender.from_bytes(recommender.to_bytes())
        assert seen > 20
        ends.append(recommender.to_bytes())
    assert ends[0] == ends[1]


def test_a_fit_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits in it: the posterior is that of refreshes at once."""
    X, Y = data(400, 60)
    model = BayesianLogisticRegression(
        inference="fab-cost", fit_intercept=False, refresh=Refresh.at(390, max_sweeps=1)
    )
    monkeypatch.setattr(estimator, "FabCost", partial(FabCost, most_work=40 * 3600))
    whole = FabCost(
        Gaussian.isotropic(60, variance=model.prior_variance),
        refresh=Refresh.at(390, max_sweeps=1),
        most_work=None,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, Y)
    whole.observe_many(X, Y)
    assert model.posterior_.mean.tobytes() == whole.posterior.mean.tobytes()


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 90), min_size=3, max_size=9), st.booleans(), st.integers(0, 9))
def test_rows_move_to_larger_memory_unchanged(
    batches: list[int], bounded: bool, dropped: int
) -> None:
    """Some with each that comes; a row that is dropped meanwhile lets the others close up."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "MUCH", 0)
        past, numbers, expected = History(2, 150 if bounded else None, owned=True), 0.0, []
        for size in batches:
            for _ in range(size):
                past.room()
                numbers += 1.0
                past.append(np.full(2, numbers), 1.0, 1, int(numbers) % 10)
                expected.append(numbers)
            expected = expected[-150:] if bounded else expected
            if not bounded:
                past.drop(np.array([dropped]))
                expected = [each for each in expected if int(each) % 10 != dropped]
        assert sorted(np.asarray(past.kept()[0])[:, 0]) == expected
        if not bounded:
            assert np.asarray(past.kept()[0])[:, 1].tolist() == expected


def test_rows_that_somebody_looks_at_are_copied_when_more_come() -> None:
    pages = Pages(np.arange(6.0).reshape(3, 2), 4)
    seen = pages.rows
    pages.grow(9)
    pages.rows[0] = 7.0
    assert seen[:3].ravel().tolist() == list(range(6))
    assert pages.rows[:3].ravel().tolist() == [7.0, 7.0, 2.0, 3.0, 4.0, 5.0]
    assert pages.rows.shape == (9, 2)
    assert not pages.rows[3:].any()


def test_a_large_belief_is_copied_into_the_same_memory_again(lagging: int) -> None:
    """To free it, and to have it anew, would take longer than a row takes to learn."""
    learner = spread_learner(Refresh.at(40, 140, 10**6, max_sweeps=1), 6)
    roots = []
    for x, y in zip(*data(300, WEIGHTS), strict=True):
        learner.observe(x, y)
        roots.append(learner._carried.root.ctypes.data)
    assert learner.refreshes == 2
    assert len(set(roots)) == 2
    assert roots[-1] == roots[0]


@pytest.mark.parametrize("visits", [1, 4, 12])
def test_however_spread_refreshes_begin_before_impressions_leave_that_none_refined(
    visits: int,
) -> None:
    rng = np.random.default_rng(4)
    learner = FabCost(Gaussian.isotropic(2), most_kept=40, most_work=4 * visits)
    begun = set()
    for row in rng.standard_normal((400, 2)):
        learner.observe(row, rng.random() < 0.3)
        begun |= set() if learner._refreshing is None else {learner._refreshing.begun}
    assert max(begun) > 350
    assert max(np.diff(sorted(begun))) <= 40
