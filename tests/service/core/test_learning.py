from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabcost import FabCost, Gaussian, Refresh
from fabcost.impressions import GivenRows
from fabcost.inference import online, schedule
from fabcost.inference.saved import file as learner_file
from fabcost.service.learning import learner as learning_module
from fabcost.service.learning.follower import Follower, Learnt, OneVariance
from fabcost.service.learning.learner import Learning, Saving
from fabcost.service.store.rows import Impression


def stream(count: int, *, growing: bool, seed: int) -> list[Learnt]:
    """Impressions whose columns grow with time, as those of an open schema do."""
    rng = np.random.default_rng(seed)
    learnt = []
    for k in range(count):
        most = 3 + (k // 7 if growing else 4)
        columns = [0, *sorted(rng.choice(np.arange(1, most + 1), 2, replace=False).tolist())]
        numbers = [1.0, *rng.normal(size=2).tolist()]
        learnt.append(Learnt(Impression(columns, numbers), int(rng.choice([-1, 1]))))
    return learnt


def following(learner: FabCost) -> Follower:
    return Follower(learner, OneVariance(5.0))


def first() -> Follower:
    return following(FabCost(Gaussian.isotropic(2, variance=3.0)))


def one_by_one(impressions: Sequence[Learnt]) -> FabCost:
    follower = first()
    for each in impressions:
        follower.learn([each])
    return follower.learner


def same_bits(a: Gaussian, b: Gaussian) -> bool:
    return a.mean.tobytes() == b.mean.tobytes() and a.root.tobytes() == b.root.tobytes()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.booleans(), st.integers(0, 99))
def test_batches_do_not_matter(sizes: list[int], growing: bool, seed: int) -> None:
    impressions = stream(sum(sizes), growing=growing, seed=seed)
    follower, start = first(), 0
    for size in sizes:
        follower.learn(impressions[start : start + size])
        start += size
    assert same_bits(follower.learner.posterior, one_by_one(impressions).posterior)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=2, max_size=8), st.integers(0, 99))
def test_refreshes_in_the_background_end_with_the_same_bits(sizes: list[int], seed: int) -> None:
    impressions = stream(sum(sizes), growing=True, seed=seed)
    learning, start = Learning(first(), 0, inline=0), 0
    for size in sizes:
        learning.apply(impressions[start : start + size])
        start += size
        assert learning.published.lsn == learning.lsn == start
    learning.wait()
    assert learning.failure is None
    assert not learning.refreshing
    assert learning.lag == 0
    expected = one_by_one(impressions)
    assert isinstance(learning.published.belief, Gaussian)
    assert same_bits(learning.published.belief, expected.posterior)
    assert learning.published.version == f"{start}.{expected.refreshes}"


def test_while_a_refresh_runs_decisions_see_every_impression_filtered() -> None:
    impressions = stream(40, growing=False, seed=3)
    learning = Learning(first(), 0, inline=0)
    with learning._lock:
        pass
    learning.apply(impressions[:1])  # a refresh is due at the first impression already
    provisional = learning.published
    filtered = FabCost(Gaussian.isotropic(2, variance=3.0), refresh=Refresh.never())
    following(filtered).learn(impressions[:1])
    np.testing.assert_allclose(provisional.belief.mean, filtered.posterior.mean, atol=1e-6)
    learning.wait()


class Hands:
    """A clock that moves while a learner refreshes, and never else."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now


@pytest.mark.parametrize("inline", [0, 10**9])
def test_every_refresh_is_timed_once(inline: int, monkeypatch: pytest.MonkeyPatch) -> None:
    hands, seconds, refresh = Hands(), list[float](), schedule.ask_schedule

    def asked(learner: FabCost, spread: schedule.Spread) -> None:
        hands.now += 10.0
        refresh(learner, spread)

    monkeypatch.setattr(learning_module, "time", hands)
    monkeypatch.setattr(online, "ask_schedule", asked)
    learning = Learning(first(), 0, inline=inline, refreshed=seconds.append)
    impressions = stream(60, growing=False, seed=0)
    for start in (0, 1, 7, 40):
        learning.apply(impressions[learning.lsn : start + 20])
    learning.wait()
    assert seconds == [10.0] * learning.published.refreshes
    assert learning.last_refresh_seconds == 10.0


@pytest.mark.parametrize("inline", [0, 10**9])
def test_every_state_that_is_packed_goes_on_with_the_same_bits(
    inline: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning_module, "SECONDS", 0.0)
    monkeypatch.setattr(learning_module, "_TIMES_SAVING", 0.0)
    impressions = stream(60, growing=True, seed=4)
    packed: list[bytes] = []

    def pack(follower: Any) -> bytes:
        packed.append(learner_file.to_bytes(follower.learner))
        return packed[-1]

    learning = Learning(first(), 0, inline=inline, saving=Saving(pack, 0))
    for start in range(0, 60, 20):
        learning.apply(impressions[start : start + 20])
    learning.wait()
    expected = one_by_one(impressions)
    assert len(packed) > expected.refreshes
    for each in packed:
        learner = learner_file.from_bytes(each)
        following(learner).learn(impressions[learner.seen :])
        assert same_bits(learner.posterior, expected.posterior)
        assert learner.refreshes == expected.refreshes


def test_a_failing_refresh_leaves_the_provisional_posterior_serving() -> None:
    learning = Learning(first(), 0, inline=0, refreshed=_fail)
    learning.apply(stream(3, growing=False, seed=0))
    learning.wait()
    assert isinstance(learning.failure, RuntimeError)
    assert learning.learner is None
    assert learning.published.lsn == 3


def _fail(seconds: float) -> None:
    raise RuntimeError(f"after {seconds} seconds")


class OutOfMemory(FabCost):
    """A learner for which there is no room at its fifth impression."""

    def observe_many(
        self, X: GivenRows, y: Any, items: Iterable[Any] | None = None, **more: Any
    ) -> None:
        if self.seen >= 4:
            raise MemoryError
        super().observe_many(X, y, items, **more)


def test_learning_that_fails_leaves_the_last_posterior_serving() -> None:
    impressions = stream(12, growing=False, seed=0)
    learner = OutOfMemory(Gaussian.isotropic(9, variance=3.0), refresh=Refresh.never())
    learning = Learning(following(learner), 0)
    learning.apply(impressions[:4])
    serving = learning.published
    for k in range(4, 12):
        learning.apply(impressions[k : k + 1])
    assert isinstance(learning.failure, MemoryError)
    assert learning.published is serving
    assert (learning.lsn, learning.lag) == (12, 8)
    assert learning.learner is None


def test_after_a_failed_refresh_nothing_is_gathered_for_it() -> None:
    impressions = stream(30, growing=False, seed=0)
    learning = Learning(first(), 0, inline=0, refreshed=_fail)
    learning.apply(impressions[:3])
    learning.wait()
    learning.apply(impressions[3:])
    assert (learning.published.lsn, learning.lag) == (30, 0)


def test_a_snapshot_is_due_after_a_thousand_impressions_or_a_quarter_of_the_log() -> None:
    packed: list[Follower] = []

    def pack(follower: Any) -> bytes:
        packed.append(follower)
        return b""

    saving, due, learner = Saving(pack, 0), list[int](), first()
    for lsn in range(1, 10_000):
        saving.learnt(learner, lsn, seconds=0.0)
        if len(packed) > len(due):
            due.append(lsn)
    assert due == [1_000, 2_000, 3_000, 4_000, 5_000, 6_250, 7_812, 9_765]
