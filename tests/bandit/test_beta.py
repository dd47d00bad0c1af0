"""The Beta-Bernoulli bandit against counting and quadrature."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from fabcost.bandit.beta import BetaBernoulli, Counts

ITEMS = ["a", "b", "c", "d"]
SEEN = {"a": (3, 20), "b": (1, 5), "c": (0, 2)}  # clicks and misses; d was never shown


def taught(seed: int = 0, prior: tuple[float, float] = (1.0, 1.0)) -> BetaBernoulli:
    bandit = BetaBernoulli(prior, seed=seed)
    for item, (clicks, misses) in SEEN.items():
        for k in range(clicks + misses):
            bandit.learn(item, k < clicks)
    return bandit


def choices(bandit: BetaBernoulli, items: list[str], many: int = 20_000) -> np.ndarray:
    return np.bincount([bandit.choose(items).index for _ in range(many)], minlength=len(items))


def probability_first_is_larger(first: tuple[int, int], second: tuple[int, int]) -> float:
    """P(θ₁ > θ₂) = ∫ f₁(t) F₂(t) dt for beliefs Beta(1 + clicks, 1 + misses)."""
    one, two = (stats.beta(1 + clicks, 1 + misses) for clicks, misses in (first, second))
    return float(integrate.quad(lambda t: one.pdf(t) * two.cdf(t), 0, 1, epsabs=1e-12)[0])


@given(
    impressions=st.lists(st.tuples(st.integers(0, 200), st.booleans()), max_size=400),
    prior=st.tuples(st.floats(0.01, 50), st.floats(0.01, 50)),
)
def test_the_posterior_is_counting(
    impressions: list[tuple[int, bool]], prior: tuple[float, float]
) -> None:
    bandit = BetaBernoulli(prior)
    for item, clicked in impressions:
        bandit.learn(item, clicked)
    counted = Counter(impressions)
    assert set(bandit.items) == {item for item, _ in impressions}
    assert len(bandit) == len(bandit.items)
    clicks, misses = (np.array([counted[k, flag] for k in range(201)]) for flag in (True, False))
    assert [bandit.counts(k) for k in range(201)] == [*map(Counts, clicks, misses)]
    expected = stats.beta.mean(prior[0] + clicks, prior[1] + misses)
    np.testing.assert_allclose([bandit.mean(k) for k in range(201)], expected, rtol=1e-12)


def test_scores_are_draws_of_the_posterior() -> None:
    """Kolmogorov-Smirnov of 5,000 draws for each item; false-alarm rate 4 × 1e-4, fixed seed."""
    bandit = taught(prior=(0.5, 2.0))
    scores = np.array([bandit.choose(ITEMS).scores for _ in range(5_000)])
    for column, item in zip(scores.T, ITEMS, strict=True):
        clicks, misses = SEEN.get(item, (0, 0))
        assert stats.kstest(column, stats.beta(0.5 + clicks, 2.0 + misses).cdf).pvalue > 1e-4


@pytest.mark.parametrize("pair", [("a", "b"), ("b", "c"), ("a", "d")])
def test_two_items_are_chosen_as_often_as_the_integral_says(pair: tuple[str, str]) -> None:
    """Binomial test of 20,000 choices; false-alarm rate 1e-4 for each pair, fixed seed."""
    first, second = (SEEN.get(item, (0, 0)) for item in pair)
    share = probability_first_is_larger(first, second)
    counts = choices(taught(1), list(pair))
    assert stats.binomtest(int(counts[0]), 20_000, share).pvalue > 1e-4
    shares = taught(2).propensities(pair, draws=200_000)
    sd = np.sqrt(share * (1 - share) / 200_000)
    assert abs(shares[0] - share) < stats.norm.isf(0.5e-4) * sd  # false-alarm rate 1e-4


def test_propensities_are_the_frequencies_of_choices() -> None:
    """Chi-square of 20,000 choices; false-alarm rate 1e-4, fixed seed."""
    shares = taught(1).propensities(ITEMS, draws=200_000)
    expected = 20_000 * shares
    noise = 1 + 20_000 / 200_000  # the shares have sampling error of their own
    chi2 = ((choices(taught(2), ITEMS) - expected) ** 2 / (noise * expected)).sum()
    assert chi2 < stats.chi2(3).isf(1e-4)


def test_propensities_keep_floor_and_exclusion() -> None:
    shares = taught().propensities(ITEMS, draws=64, floor=0.12, exclude=["b", "elsewhere"])
    assert shares.sum() == pytest.approx(1.0, abs=1e-12)
    assert shares[1] == 0.0
    assert (np.delete(shares, 1) >= 0.12 / 3 - 1e-12).all()


def test_excluded_items_are_never_ranked() -> None:
    bandit = taught()
    for _ in range(20):
        choice = bandit.choose(ITEMS, exclude=["a", "c", "elsewhere"], top_k=4)
        assert sorted(choice.ranking.tolist()) == [1, 3]
        assert np.isneginf(choice.scores[[0, 2]]).all()
        assert choice.index == choice.ranking[0]
        assert choice.scores[choice.ranking[0]] >= choice.scores[choice.ranking[1]]


def test_ties_are_broken_at_random() -> None:
    """Draws of Beta(10⁻⁵, 10) are zero; 400 choices, below 1e-11 that one has fewer than 130."""
    bandit = BetaBernoulli((1e-5, 10.0))
    assert bandit.choose(["a", "b"]).scores.tolist() == [0.0, 0.0]
    assert choices(bandit, ["a", "b"], 400).min() > 130


def test_same_seed_same_bits() -> None:
    first, second = taught(5), taught(5)
    for _ in range(20):
        assert first.choose(ITEMS).scores.tobytes() == second.choose(ITEMS).scores.tobytes()
    assert first.propensities(ITEMS).tobytes() == second.propensities(ITEMS).tobytes()
    assert taught(6).choose(ITEMS).scores.tobytes() != taught(5).choose(ITEMS).scores.tobytes()


def test_it_grows_by_thousands_and_asking_does_not_grow_it() -> None:
    bandit = BetaBernoulli()
    catalogue = list(range(5_000))
    for item in catalogue:
        bandit.learn(item, item % 7 == 0)
    assert len(bandit) == 5_000
    assert sum(bandit.counts(item).clicks for item in catalogue) == 715
    bandit.choose([*catalogue, "new", ("also", "new")])
    bandit.mean("new")
    assert len(bandit) == 5_000


BAD: list[tuple[Callable[[Any], Any], str]] = [
    (lambda b: b.choose([]), "items are empty"),
    (lambda b: b.choose("abc"), "items are 'abc' but must be a sequence of ids"),
    (lambda b: b.choose(["a", "b", "a"]), "items are 3 but only 2 are different"),
    (lambda b: b.choose(["a", ["b"]]), r"an item is \['b'\] but must be hashable"),
    (lambda b: b.choose(["a"], top_k=0), "top_k is 0"),
    (lambda b: b.choose(["a", "b"], exclude=["a", "b"]), "all 2 items are excluded"),
    (lambda b: b.choose(["a", "b"], exclude=[{}]), r"an item is \{\} but must be hashable"),
    (lambda b: b.propensities(["a"], draws=0), "draws is 0"),
    (lambda b: b.propensities(["a"], floor=1.5), "floor is 1.5"),
    (lambda b: b.learn("new", 0.5), "y is 0.5 but must be 0 or 1"),
    (lambda b: b.learn("new", None), "y is None but must be 0 or 1"),
    (lambda b: b.learn(["new"], True), r"an item is \['new'\] but must be hashable"),
    (lambda b: b.mean({}), r"an item is \{\} but must be hashable"),
]


@pytest.mark.parametrize(("act", "complaint"), BAD, ids=[complaint for _, complaint in BAD])
def test_errors_leave_the_state_alone(act: Callable[[Any], Any], complaint: str) -> None:
    bandit = taught()
    before = bandit.rng.bit_generator.state
    with pytest.raises(ValueError, match=complaint):
        act(bandit)
    assert bandit.rng.bit_generator.state == before
    assert {item: tuple(bandit.counts(item)) for item in bandit.items} == SEEN


@pytest.mark.parametrize("prior", [(0.0, 1.0), (1.0, -1.0), (1.0, float("nan")), (1.0,), "ab"])
def test_bad_priors_are_named(prior: Any) -> None:
    with pytest.raises(ValueError, match="prior is "):
        BetaBernoulli(prior)
