from __future__ import annotations

import numpy as np
import pytest

from fabcost import FabCost, Gaussian
from fabcost.bandit.pool import pool as pools
from fabcost.bandit.pool.pool import Pool
from fabcost.bandit.rules import BayesianUCB, Greedy, Thompson, Uniform
from fabcost.impressions import FloatArray
from fabcost.offline.replay.protocol import replay
from tests.simulated import cold_start, correlated_prior


def naive_choices(rows: FloatArray, thetas: FloatArray, priority: np.ndarray) -> list[int]:
    """Score everything, take the best by priority, remove, repeat."""
    left = list(range(len(rows)))
    chosen = []
    for theta in thetas:
        scores = [
            sum(float(t) * float(a) for t, a in zip(theta, rows[i], strict=True)) for i in left
        ]
        top = max(scores)
        ties = [i for i, s in zip(left, scores, strict=True) if s == top]
        best = min(ties, key=lambda i: priority[i])
        left.remove(best)
        chosen.append(best)
    return chosen


@pytest.mark.parametrize("with_belief", [True, False])
def test_small_pools_choose_like_a_naive_loop(with_belief: bool) -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(-2, 3, size=(120, 3)).astype(float)  # many ties
    belief = correlated_prior(3)
    thetas = np.round(belief.sample(rng, 120), 1)
    pool = Pool(rows, rng=np.random.default_rng(7))
    priority = np.argsort(np.random.default_rng(7).permutation(120))
    expected = naive_choices(rows, thetas, priority)
    found = []
    for theta in thetas:
        found.append(pool.best(theta, belief if with_belief else None))
        pool.remove(found[-1])
    assert found == expected
    assert len(pool) == 0


def test_shortlists_change_nothing() -> None:
    """30,000 rows and a sharp belief: the lists answer most draws, as a full scan would."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(30_000, 6))
    wide, sharp = correlated_prior(6), correlated_prior(6, scale=1e-3)
    fast, slow = (Pool(rows, rng=np.random.default_rng(2)) for _ in range(2))
    listed = 0
    for k in range(1500):
        belief = wide if k < 50 else sharp
        theta = belief.sample(rng)
        index = fast.best(theta, belief)
        assert index == slow.best(theta)
        listed += fast._shortlist is not None and fast._shortlist.best(theta).position is not None
        fast.remove(index)
        slow.remove(index)
    assert listed > 1000


@pytest.mark.parametrize("rounded", [False, True])
def test_copies_change_nothing(rounded: bool) -> None:
    """Lists over distinct rows choose as a scan of all rows; rounded draws tie distinct rows too.

    Now and then a row leaves that was not the best, so that queues lose rows in their middle.
    The belief sharpens, so that lists are made anew and rows that left are dropped.
    """
    rng = np.random.default_rng(3)
    distinct = np.round(8.0 * rng.normal(size=(3_000, 3))) / 8.0  # sums are exact, so they tie
    rows = distinct[rng.integers(0, 3_000, size=6_000)]
    pool = Pool(rows, rng=np.random.default_rng(8))
    priority = np.argsort(np.random.default_rng(8).permutation(6_000))
    left, listed = np.ones(6_000, dtype=bool), 0
    for k in range(6_000):
        belief = correlated_prior(3, scale=1.0 / (1.0 + k / 500))
        theta = np.round(belief.sample(rng)) if rounded else belief.sample(rng)
        scores = np.where(left, np.round(rows @ theta, 9), -np.inf)
        ties = np.flatnonzero(scores == scores.max())
        best = int(ties[priority[ties].argmin()])
        assert pool.best(theta, belief) == best
        listed += pool._shortlist is not None and pool._shortlist.best(theta).position is not None
        leaving = int(rng.choice(np.flatnonzero(left))) if k % 5 == 0 else best
        pool.remove(leaving)
        left[leaving] = False
    assert len(pool) == 0
    assert listed > 1_000
    assert len(pool._rows) < 4_000


def test_last_copies_are_found_after_the_others_were_dropped() -> None:
    """The order of what is left of each row is not that of the rows at first."""
    rng = np.random.default_rng(5)
    rows = np.tile(rng.normal(size=(200, 3)), (2, 1))
    pool = Pool(rows, rng=rng)
    for index in [*range(200, 400), *range(100)]:
        pool.remove(index)
    pool._drop_removed()
    assert len(pool._rows) == 100
    for theta in rng.normal(size=(50, 3)):
        assert pool.best(theta) == 100 + int((rows[100:200] @ theta).argmax())


def test_rows_that_only_look_alike_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row has the same hash."""
    monkeypatch.setattr(pools, "_ODD", np.uint64(0))
    rows = np.array([[1.0, 2.0], [3.0, 2.0], [1.0, 2.0], [1.0, 5.0], [3.0, 2.0]])
    assert pools.labels(rows).tolist() == [0, 1, 0, 3, 4]


def test_a_scan_reads_distinct_rows_only() -> None:
    pool = Pool(np.repeat(np.arange(6.0).reshape(3, 2), 100, axis=0), rng=np.random.default_rng(0))
    for _ in range(250):
        pool.remove(pool.best([1.0, -0.5]))
    assert (len(pool), pool._distinct.shape) == (50, (3, 2))


def test_the_order_of_a_sorted_log_leaks_nothing() -> None:
    """Erratum 6: equal rows, clicks first.  100 of 1,000 rows, 30 % clicks: more than 55
    or fewer than 10 clicks among the first 100 has probability below 1e-7."""
    X, y = np.ones((1000, 2)), np.arange(1000) < 300
    for policy in (Thompson(), Greedy(), Uniform()):
        learner = FabCost(Gaussian.isotropic(2))
        shown = replay(X, y, learner, policy=policy, rng=np.random.default_rng(4), rounds=100)
        assert 10 <= shown.clicks[-1] <= 55


def test_replay_shows_every_impression_once() -> None:
    X, y = cold_start(300)
    learner = FabCost(correlated_prior())
    told: list[int] = []
    shown = replay(
        X, y, learner, policy=Thompson(), rng=np.random.default_rng(0), progress=told.append
    )
    assert sorted(shown.order.tolist()) == list(range(300))
    assert shown.clicks[-1] == (y > 0).sum()
    assert learner.seen == 300


def test_replay_with_the_same_seed_is_the_same() -> None:
    X, y = cold_start(100)
    orders = [
        replay(
            X, y, FabCost(correlated_prior()), policy=Thompson(), rng=np.random.default_rng(s)
        ).order
        for s in (1, 1, 2)
    ]
    np.testing.assert_array_equal(orders[0], orders[1])
    assert not np.array_equal(orders[0], orders[2])


def test_replay_finds_clicks_earlier_than_chance() -> None:
    """Fixed seed; the log has 12 % of clicks, and its best tenth about three times as many."""
    X, y = cold_start(4000)
    shown = replay(
        X,
        y,
        FabCost(Gaussian.isotropic(5, variance=10.0)),
        policy=Thompson(),
        rng=np.random.default_rng(0),
        rounds=400,
    )
    assert shown.clicks[-1] > 1.5 * 400 * (y > 0).mean()


def test_bad_questions_are_named() -> None:
    pool = Pool(np.ones((2, 3)), rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"theta has shape \(2,\) but the rows have 3 columns"):
        pool.best([1.0, 2.0])
    with pytest.raises(ValueError, match="row 5 is not in the pool"):
        pool.remove(5)
    pool.remove(0)
    with pytest.raises(ValueError, match="row 0 is not in the pool"):
        pool.remove(0)
    pool.remove(1)
    with pytest.raises(ValueError, match="the pool is empty"):
        pool.best([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="rounds is 9 but there are 3 impressions"):
        replay(
            np.ones((3, 2)),
            [0, 1, 0],
            FabCost(Gaussian.isotropic(2)),
            policy=Greedy(),
            rng=np.random.default_rng(0),
            rounds=9,
        )
    with pytest.raises(ValueError, match="replay needs weights"):
        replay(
            np.ones((3, 2)),
            [0, 1, 0],
            FabCost(Gaussian.isotropic(2)),
            policy=BayesianUCB(),
            rng=np.random.default_rng(0),
        )
