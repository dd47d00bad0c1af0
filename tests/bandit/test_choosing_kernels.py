"""The compiled searches beside plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from scipy.special import entr

from fabcost import Gaussian, kernels
from fabcost.bandit.pool.pool import Pool
from fabcost.bandit.pool.shortlist import Shortlist
from fabcost.impressions import FloatArray, read_only
from tests.bandit.policies import drawn_wins
from tests.examples import examples
from tests.simulated import correlated_prior

SMALL = st.integers(-3, 3).map(float)


@settings(deadline=None)
@given(hnp.arrays(np.float64, st.integers(1, 40), elements=SMALL))
def test_first_largest(values: FloatArray) -> None:
    winner, ties = kernels.first_largest(values)
    assert winner == values.argmax()
    assert ties == (values == values.max()).sum()


def test_first_largest_of_excluded_values() -> None:
    assert kernels.first_largest(np.array([-np.inf, 2.0, -np.inf, 2.0])) == (1, 2)


@pytest.mark.parametrize("many", [1, 4, 31, 33, 70])
@pytest.mark.parametrize("weights", [1, 7, 8, 17, 25])
def test_drawn_leader(many: int, weights: int) -> None:
    rng, belief = np.random.default_rng(many), correlated_prior(weights)
    rows, uniforms = rng.normal(size=(many, weights)), rng.random(weights)
    theta = belief.mean + 0.5 * belief.root @ stats.norm.ppf(uniforms)
    law = belief.mean, belief.root
    scores, first, ties = kernels.drawn_leader(rows, *law, uniforms.copy(), 0.5)
    np.testing.assert_allclose(scores, rows @ theta, atol=1e-9)
    assert (first, ties) == (scores.argmax(), 1)
    for wrong in (np.nan, -np.inf, 2e75):
        rows[rng.integers(many), rng.integers(weights)] = wrong
        assert kernels.drawn_leader(rows, *law, uniforms.copy(), 0.5)[2] == 0
        target = read_only(rows), *law, rng.random(2 * weights), belief.root
        assert kernels.drawn_target_leader(True, 0.1, 0.02, *target)[2] == 0
        rows[~(np.abs(rows) < 1e75)] = -1e75
    assert kernels.drawn_leader(rows, *law, uniforms.copy(), 0.5)[2] > 0


@settings(deadline=None)
@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2), elements=SMALL))
def test_count_wins(scores: FloatArray) -> None:
    best = scores == scores.max(axis=1, keepdims=True)
    expected = (best / best.sum(axis=1, keepdims=True)).sum(axis=0)
    np.testing.assert_allclose(kernels.count_wins(scores), expected, rtol=1e-12)


@settings(deadline=None)
@given(st.integers(1, 70), st.integers(1, 9), st.integers(1, 600), st.integers(0, 99))
def test_drawn_shares(many: int, width: int, draws: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    centre, spread = rng.normal(size=many), rng.normal(size=(many, width))
    equals = [0, many // 3, many // 2, many - 1]
    centre[equals], spread[equals] = centre[0], spread[0]
    normals = rng.normal(size=((draws + 3) // 4, width))
    changed = normals * np.where(np.arange(width) % 2 == 0, 1.0, -1.0)
    away = np.stack([normals, changed, -normals, -changed], axis=1).reshape(-1, width) @ spread.T
    scores = centre + away[:draws]
    scores[:, equals] = scores[:, :1]
    expected = kernels.count_wins(scores)
    first = centre.copy()
    found = drawn_wins(first, spread, normals, draws, *kernels.NO_EFFECTS)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(first, centre + away[0], rtol=1e-9, atol=1e-12)


@settings(deadline=None)
@given(st.integers(1, 12), st.integers(0, 8), st.booleans(), st.integers(0, 99))
def test_narrow(rows: int, more: int, dependent: bool, seed: int) -> None:
    wide = np.random.default_rng(seed).normal(size=(rows, rows + more))
    if dependent:
        wide[-1], wide[0] = wide[:-1].sum(axis=0), 0.0
    low = kernels.narrow(wide.copy())
    assert (np.triu(low, 1) == 0.0).all()
    np.testing.assert_allclose(low @ low.T, wide @ wide.T, rtol=1e-10, atol=1e-10)


def test_narrow_keeps_directions_that_the_square_would_lose() -> None:
    """Rows that are equal to nine digits differ by as much afterwards."""
    wide = np.array([[1.0, 0.0, 0.0], [1.0, 1e-9, 0.0]])
    low = kernels.narrow(wide.copy())
    np.testing.assert_allclose(abs(low[1, 1]), 1e-9, rtol=1e-6)


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(1, 7), st.integers(1, 5), st.integers(0, 99))
def test_law_and_fold(items: int, columns: int, parts: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    source, factors = rng.integers(0, parts, columns), rng.normal(size=columns)
    root, b = rng.normal(size=(columns, columns)), rng.normal(size=(items, parts))
    picks = np.zeros((parts, columns))
    picks[source, np.arange(columns)] = factors
    folded = kernels.fold(root, source, factors, parts)
    np.testing.assert_allclose(folded, picks @ root, atol=1e-12)
    mean = rng.normal(size=parts)
    centre, spread = kernels.law(b, mean, folded)
    np.testing.assert_allclose(centre, b @ mean, atol=1e-12)
    np.testing.assert_allclose(spread, b @ folded, atol=1e-12)
    rows, offset, mean = b @ picks, rng.normal(size=items), rng.normal(size=columns)
    tilt = rng.normal(size=rows.shape) * (rng.random((items, 1)) < 0.5)
    found = kernels.own_folded_law(b, source, factors, mean, root, tilt, offset)
    np.testing.assert_allclose(found[0], (rows - tilt) @ mean + offset, atol=1e-12)
    np.testing.assert_allclose(found[1], (rows - tilt) @ root, atol=1e-12)


@settings(deadline=None)
@given(st.integers(1, 11), st.integers(1, 50), st.sampled_from([0.0, 0.2, 0.9]), st.integers(0, 99))
def test_law_has_one_order_of_sums(items: int, columns: int, zeros: float, seed: int) -> None:
    """With rows in fours or one by one, in strips or not, dense or sparse."""
    rng = np.random.default_rng(seed)
    rows, root = rng.normal(size=(items, columns)), rng.normal(size=(columns, columns))
    rows[rng.random(rows.shape) < zeros] = 0.0
    mean = rng.normal(size=columns)
    centre, spread = np.zeros(items), np.zeros((items, columns))
    for d in range(columns):
        centre += rows[:, d] * mean[d]
        spread += np.outer(rows[:, d], root[d])
    found = kernels.law(rows, mean, root)
    assert found[0].tobytes() == centre.tobytes()
    assert found[1].tobytes() == spread.tobytes()


@settings(deadline=None)
@given(hnp.arrays(np.float64, st.integers(1, 40), elements=st.floats()), st.floats(0.0, 1e80))
def test_all_within(values: FloatArray, limit: float) -> None:
    assert kernels.all_within(values, limit) == bool((np.abs(values) <= limit).all())


@settings(deadline=None)
@given(hnp.arrays(np.float64, (30, 3), elements=SMALL), st.permutations(range(30)))
def test_largest_score(rows: FloatArray, order: list[int]) -> None:
    positions, theta = np.array(order[:12]), np.array([1.0, -2.0, 0.5])
    winner, score = kernels.largest_score(rows, positions, theta)
    scores = rows[positions] @ theta
    assert score == scores.max()
    assert winner == positions[scores == scores.max()].min()


def test_nearly_best_stops_where_the_rest_is_beaten() -> None:
    blocks = np.array([[[1.0, 5.0]], [[9.0, 2.0]], [[8.0, 7.0]]], dtype=np.float32)
    counts, positions = np.array([2, 2, 2]), np.arange(6).reshape(3, 2)
    found, near = np.empty(6, dtype=np.intp), np.empty(6, dtype=np.float32)

    def nearly(limits: list[float], slack: float) -> tuple[list[int], int, bool]:
        one = np.ones(1, dtype=np.float32)
        bounds = np.array(limits)
        many, read, certain = kernels.nearly_best(
            blocks, counts, positions, bounds, one, slack, found, near
        )
        return sorted(found[:many].tolist()) if certain else [], read, certain

    assert nearly([10.0, 8.5, 0.0], 1e-6) == ([2], 2, True)
    assert nearly([10.0, 8.5, 0.0], 0.6) == ([2, 4], 3, True)
    assert nearly([10.0, 9.5, 9.5], 1e-6) == ([], 3, False)


@st.composite
def pools(draw: st.DrawFn) -> tuple[FloatArray, Gaussian, int]:
    """Rows of any size, with many ties, and a belief; large and tiny features among them."""
    weights = draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.integers(1, 1500))
    rows = rng.normal(size=(count, weights)) * 10.0 ** draw(st.sampled_from([-60, -3, 0, 5, 60]))
    if draw(st.booleans()):
        rows = rows[rng.integers(0, max(1, count // 3), size=count)]
    root = rng.normal(size=(weights, weights)) * 10.0 ** draw(st.integers(-3, 2))
    belief = Gaussian.from_root(rng.normal(size=weights), root + np.eye(weights))
    return rows, belief, draw(st.integers(0, 1000))


@settings(max_examples=examples(60), deadline=None)
@given(pools())
def test_a_shortlist_is_right_or_says_that_it_is_not(
    given_pool: tuple[FloatArray, Gaussian, int],
) -> None:
    rows, belief, seed = given_pool
    rng = np.random.default_rng(seed)
    alive = np.arange(len(rows))
    low = float(np.median(rows @ belief.mean))
    shortlist = Shortlist(rows, alive, belief, low)
    for distance in (1.0, 1.0, 3.0, 30.0):
        theta = belief.mean + distance * (belief.root @ rng.normal(size=belief.dimension))
        position = shortlist.best(theta).position
        expected, _ = kernels.largest_score(rows, alive, theta)
        assert position in (expected, None)
        shortlist.remove(expected)
        alive = alive[alive != expected]
        if alive.size == 0:
            return


def test_unusual_draws_are_answered_by_a_list_of_all_rows() -> None:
    rng = np.random.default_rng(0)
    rows, belief = rng.normal(size=(2000, 3)), Gaussian.isotropic(3)
    shortlist = Shortlist(rows, np.arange(2000), belief, -10.0)
    for distance in (1.0, 10.0, 100.0):
        theta = distance * rng.normal(size=3)
        assert shortlist.best(theta).position == (rows @ theta).argmax()


def test_features_beyond_single_precision_are_scanned() -> None:
    rng = np.random.default_rng(0)
    rows = 1e60 * rng.normal(size=(3000, 2))
    pool, belief = Pool(rows, rng=rng), Gaussian.isotropic(2)
    for _ in range(50):
        theta = belief.sample(rng)
        assert pool.best(theta, belief) == (rows @ theta).argmax()


SHARES = hnp.arrays(np.float64, st.integers(1, 30), elements=st.sampled_from([0.0, 0.25, 1.0]))


@settings(deadline=None)
@given(SHARES.filter(lambda shares: shares.sum() > 0.0), st.floats(0.0, 1.0))
def test_mix_and_entropy(shares: FloatArray, floor: float) -> None:
    mixed = (1.0 - floor) * shares + floor / shares.size
    expected = mixed / mixed.sum()
    kernels.mix(shares, floor)
    np.testing.assert_allclose(shares, expected, rtol=1e-12)
    np.testing.assert_allclose(kernels.entropy(shares), entr(expected).sum(), rtol=1e-9, atol=1e-12)


@settings(deadline=None)
@given(SHARES.filter(lambda shares: shares.sum() > 0.0), st.floats(0.0, 1.0, exclude_max=True))
def test_place_of(shares: FloatArray, u: float) -> None:
    place = kernels.place_of(u, shares)
    assert shares[place] > 0.0
    assert shares[:place].sum() <= u * shares.sum() + 1e-12
    assert u * shares.sum() <= shares[: place + 1].sum() + 1e-12


@settings(deadline=None)
@given(
    st.integers(1, 70), st.integers(1, 9), st.integers(1, 90), st.integers(1, 400), st.booleans()
)
def test_scattered_leaders(many: int, width: int, rows: int, targets: int, owned: bool) -> None:
    """Beside scores that are written out, each draw with its signs and its target."""
    rng = np.random.default_rng(many + 97 * rows)
    means, radii = rng.random(many), rng.random(many)
    radii[rng.random(many) < 0.2] = 0.0
    f, spread = 1.2 * rng.random(targets), 0.3 * rng.normal(size=(many, width))
    normals, own_normals = rng.normal(size=(rows, width)), rng.normal(size=rows + many - 1)
    noise, places = rng.random(many), np.arange(many)
    given = (noise, places, own_normals) if owned else kernels.NO_EFFECTS
    found = kernels.scattered_leaders(f, means, radii, spread, normals, *given)
    every_second = np.where(np.arange(width) % 2 == 0, 1.0, -1.0)
    for row in range(rows):
        of_items = noise * own_normals[row + places] if owned else np.zeros(many)
        for pattern, (whole, second) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
            signs = whole * (every_second if second < 0 else 1.0)
            away = spread @ (signs * normals[row]) + whole * second * of_items
            target = f[(4 * row + pattern) % targets]
            scores = kernels.scattered_scores(target, means, radii, away)
            with np.errstate(divide="ignore", invalid="ignore"):
                plain = (means - max(target, means.max())) / radii + away
            np.testing.assert_allclose(scores[radii > 0.0], plain[radii > 0.0], rtol=1e-12)
            assert scores[found[pattern, row]] >= scores.max() - 1e-9


@pytest.mark.parametrize("log_odds", [True, False])
@pytest.mark.parametrize(("draws", "rare"), [(1, 0.0), (3, 0.0), (1, 0.93)])
def test_the_story_of_scatter(draws: int, rare: float, log_odds: bool) -> None:
    """Step by step, by kernels that have twins of their own."""
    rng = np.random.default_rng(draws)
    many, width, rows = 12, 5, 16
    centre, spread, noise = rng.normal(size=many), rng.normal(size=(many, width)), rng.random(many)
    uniforms, places = rng.random(2 * (kernels.SEEDS + 1)), np.arange(many)
    law = (centre, spread, noise, places, many, kernels.NOTHING, kernels.NOTHING)
    given = (draws, log_odds, 0.3, rare, rows, uniforms.copy())
    scores, shares = kernels.scattered_story(*given, *law)
    variance = (spread**2).sum(axis=1) + noise**2

    def normals(seeds: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
        fresh = kernels.fresh_normals(seeds, count * width + many + count - 1)
        return fresh[: count * width].reshape(count, width), fresh[count * width :]

    z, own = normals(uniforms[:3], max(rows // 4, draws))
    best, ahead = kernels.drawn_leaders(
        centre, spread, z, noise, places, own, kernels.NOTHING, kernels.NOTHING
    )
    targets, first = best.ravel(), ahead.ravel()
    is_rare = 1.0 / (1.0 + np.exp(-targets)) < rare
    assert rare == 0.0 or 0.0 < is_rare.mean() < 1.0
    mean, radius = (centre, np.sqrt(variance))
    if not log_odds:
        targets = 1.0 / (1.0 + np.exp(-targets))
        mean, radius = kernels.click_moments(centre, variance)
    targets = np.mean([np.roll(targets, -k) for k in range(draws)], axis=0)
    factors = 0.3 / np.sqrt(variance)
    z, own = normals(uniforms[4:7], rows)
    of_items = (noise * factors, places, own)
    leader = kernels.scattered_leaders(
        targets, mean, radius, spread * factors[:, None], z, *of_items
    )
    for place in range(leader.size):
        if is_rare[place % targets.size]:
            leader[place % 4, place // 4] = first[place % targets.size]
    expected = np.bincount(leader.ravel(), minlength=many) / leader.size
    np.testing.assert_allclose(shares, expected, atol=1e-12)
    place = int(leader.size * uniforms[-1])
    assert scores.argmax() == leader[place % 4, place // 4]
