"""The learner for very many weights, beside plain NumPy and beside the full belief."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import csr_array

from fabcost import (
    Bandit,
    FabCost,
    Gaussian,
    HalfLife,
    HashedFeatures,
    Refresh,
    Tally,
    Wide,
    WideFabCost,
)
from fabcost.bandit.rules import BayesianUCB, EpsilonGreedy, Greedy, Thompson, Uniform
from fabcost.inference.wide.belief import WideGaussian
from fabcost.sparse import SparseRows, as_sparse
from fabcost.tilted import tilted

Floats = npt.NDArray[np.float64]
WEIGHTS, ROWS = 60, 300
DIGEST = "6bb29d7a7ec61b375fcb0e015b4795b8c010001e5858cce832339299cbcbb7e5"


def stream(rng: np.random.Generator, many: int = ROWS) -> tuple[Floats, npt.NDArray[np.int64]]:
    X = rng.standard_normal((many, WEIGHTS)) * (rng.random((many, WEIGHTS)) < 0.1)
    X[:, 0] = 1.0
    y = (rng.random(many) < 1 / (1 + np.exp(-X @ rng.standard_normal(WEIGHTS)))).astype(np.int64)
    return X, y


class Twin:
    """The same belief as a dense covariance, from which what is not kept is struck out."""

    def __init__(self, variance: float, core: int, after: int) -> None:
        self.mean, self.covariance = np.zeros(WEIGHTS), variance * np.eye(WEIGHTS)
        self.uses, self.members = np.zeros(WEIGHTS, dtype=int), list[int]()
        self.core, self.after = core, after

    def observe(self, x: Floats, y: int) -> None:
        for j in np.flatnonzero(x):
            self.uses[j] += 1
            if j not in self.members and self.uses[j] >= self.after:
                self.members += [int(j)] if len(self.members) < self.core else []
        along = self.covariance @ x
        site = tilted(x @ self.mean, x @ along, 2.0 * y - 1.0)
        self.mean = self.mean + site.slope * along
        full = self.covariance - site.curvature * np.outer(along, along)
        kept = np.eye(WEIGHTS, dtype=bool)
        kept[np.ix_(self.members, self.members)] = True
        self.covariance = np.where(kept, full, 0.0)


@pytest.mark.parametrize(("core", "after"), [(0, 1), (5, 3), (13, 1), (WEIGHTS, 1)])
def test_steps_are_those_of_plain_numpy(core: int, after: int) -> None:
    X, y = stream(np.random.default_rng(1))
    learner, twin = (
        WideFabCost(WEIGHTS, variance=2.0, core=core, after=after),
        Twin(2.0, core, after),
    )
    learner.observe_many(csr_array(X), y)
    for row, label in zip(X, y, strict=True):
        twin.observe(row, int(label))
    belief = learner.posterior
    assert belief.members.tolist() == twin.members
    np.testing.assert_allclose(belief.mean, twin.mean, rtol=1e-9, atol=1e-11)
    every = belief.covariance(np.arange(WEIGHTS))
    np.testing.assert_allclose(every, twin.covariance, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(belief.sd**2, np.diag(twin.covariance), rtol=1e-9)
    mean, variance = belief.marginal(X)
    np.testing.assert_allclose(mean, X @ twin.mean, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(variance, ((X @ twin.covariance) * X).sum(axis=1), rtol=1e-9)


def test_with_every_column_in_the_core_it_is_the_full_belief() -> None:
    X, y = stream(np.random.default_rng(2))
    wide = WideFabCost(WEIGHTS, variance=1.0, core=WEIGHTS, after=1)
    full = FabCost(Gaussian.isotropic(WEIGHTS), refresh=Refresh.never())
    wide.observe_many(X, y)
    full.observe_many(X, y)
    np.testing.assert_allclose(wide.posterior.mean, full.posterior.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        wide.posterior.covariance(np.arange(WEIGHTS)), full.posterior.covariance, atol=1e-12
    )
    np.testing.assert_allclose(wide.posterior.predict(X), full.posterior.predict(X), rtol=1e-9)


def test_every_form_of_rows_and_any_batching_has_the_same_bits() -> None:
    X, y = stream(np.random.default_rng(3))
    pairs = [(np.flatnonzero(x)[::-1].copy(), x[np.flatnonzero(x)[::-1]]) for x in X]
    forms: list[Any] = [X, csr_array(X), pairs, SparseRows.of_pairs(pairs, WEIGHTS)]
    found = []
    for form in forms:
        learner = WideFabCost(WEIGHTS, variance=1.0, core=9)
        learner.observe_many(form, y)
        found.append(learner.posterior)
    one_by_one = WideFabCost(WEIGHTS, variance=1.0, core=9)
    for pair, label in zip(pairs, y, strict=True):
        one_by_one.observe(pair, label)
    for belief in [*found[1:], one_by_one.posterior]:
        assert np.array_equal(belief.mean, found[0].mean)
        assert np.array_equal(belief.root, found[0].root)
        assert np.array_equal(belief.variance, found[0].variance)


def test_bits_are_a_function_of_the_source_and_the_input() -> None:
    """The constant is that of any processor: it changes with the mathematics only."""
    k = np.arange(300 * 12).reshape(300, 12)
    columns, values = (k * k * 31 + k * 7) % 997, ((k * 13) % 17 - 8) / 8.0
    rows = SparseRows.of_pairs(zip(columns, values, strict=True), 997)
    labels = (np.arange(300) ** 2 % 5 == 1).astype(int)
    digest = hashlib.sha256()
    for core in (0, 13, 64):
        learner = WideFabCost(997, variance=1.0, core=core)
        learner.observe_many(rows, labels)
        arrays = learner.state()[1]
        bandit, few = Bandit(learner, seed=1), rows[np.arange(40)]
        drawn = bandit.choose(few, draws=256)
        found = [arrays[name] for name in sorted(arrays)]
        found += [bandit.choose(few).scores, drawn.scores, bandit.propensities(few)]
        for each in [*found, learner.posterior.predict(few)]:
            digest.update(each.tobytes())
    assert digest.hexdigest() == DIGEST


def learnt(core: int = 9) -> tuple[WideFabCost, Floats]:
    X, y = stream(np.random.default_rng(4))
    learner = WideFabCost(WEIGHTS, variance=1.0, core=core)
    learner.observe_many(X, y)
    return learner, X


def test_weights_and_counts_are_learnt_as_by_the_full_belief() -> None:
    X, y = stream(np.random.default_rng(4))
    share = np.random.default_rng(5).random(ROWS)
    for outcome, weight in ((y, 3.0 * share), (Tally(share, 1.0), None), (Tally(3, 40), share)):
        wide = WideFabCost(WEIGHTS, variance=1.0, core=WEIGHTS, after=1)
        full = FabCost(Gaussian.isotropic(WEIGHTS), refresh=Refresh.never())
        for each in (wide, full):
            each.observe_many(X, outcome, weight=weight)
        np.testing.assert_allclose(wide.posterior.mean, full.posterior.mean, atol=1e-12)
        np.testing.assert_allclose(wide.posterior.sd, full.posterior.sd, rtol=1e-12)
    before = wide.posterior.digest(), wide.seen
    wide.observe(X[0], Tally(0, 0))
    for bad in (np.nan, -1.0, 1e10, np.inf):
        with pytest.raises(ValueError, match="weight"):
            wide.observe(X[0], 1, weight=bad)
    assert (wide.posterior.digest(), wide.seen) == before


def test_what_is_not_renewed_grows_as_wide_as_the_prior() -> None:
    X, y = stream(np.random.default_rng(4))
    learner = WideFabCost(WEIGHTS, variance=2.0, core=9, half_life=HalfLife(100.0, "seconds"))
    learner.observe_many(X, y, at=0.0)
    before, at = learner.posterior.copy(), np.arange(WEIGHTS)
    learner.observe(([], []), 1, at=100.0)
    after = learner.posterior
    np.testing.assert_array_equal(after.mean, before.mean)
    precision = np.linalg.inv(before.covariance(at)) + np.eye(WEIGHTS) / 2.0
    np.testing.assert_allclose(np.linalg.inv(after.covariance(at)), precision / 2.0, atol=1e-9)
    learner.observe(([], []), 1, at=1e9)
    np.testing.assert_allclose(learner.posterior.sd, np.sqrt(2.0), rtol=1e-12)
    digest = learner.posterior.digest()
    for wrong in (None, np.nan, [1.0, 2.0]):
        with pytest.raises(ValueError, match="at is|broadcast"):
            learner.observe_many(X[:3], y[:3], at=wrong)
    assert (learner.posterior.digest(), learner.seen) == (digest, ROWS + 2)


@pytest.mark.parametrize("discount", [None, 0.1, 1.0])
@pytest.mark.parametrize("half_life", [None, 30.0])
def test_a_start_is_the_same_in_one_batch_one_by_one_and_after_loading(
    discount: float | None, half_life: float | None
) -> None:
    source, X = learnt()
    y = np.arange(ROWS) % 3 == 0
    made = (WideFabCost(WEIGHTS, variance=1.0, core=6, half_life=half_life) for _ in range(2))
    batch, single = made
    for each in (batch, single):
        each.start_from(source, discount)
    batch.observe_many(X, y, weight=np.full(ROWS, 0.5))
    for row, click in zip(X, y, strict=True):
        if single.seen in (0, 1, 50):
            single = WideFabCost.restored(*single.state())
        single.observe(row, click, weight=0.5)
    assert batch.posterior.digest() == single.posterior.digest()
    assert (batch.inheritance is None) == (discount is not None)


def test_outcomes_decide_how_much_of_a_start_is_believed() -> None:
    source, X = learnt()
    y = source.posterior.predict(X) > 0.5
    same = WideFabCost(WEIGHTS, variance=1.0, core=9)
    same.start_from(source, 1.0)
    np.testing.assert_allclose(same.posterior.mean, source.posterior.mean, atol=1e-12)
    np.testing.assert_allclose(same.posterior.sd, source.posterior.sd, rtol=1e-12)
    for clicks, discount in ((y, 1.0), (~y, 0.0)):
        learner = WideFabCost(WEIGHTS, variance=1.0, core=9)
        learner.start_from(source)
        learner.observe_many(X, clicks)
        assert learner.inheritance is not None
        assert learner.inheritance.discount == discount
        plain = WideFabCost(WEIGHTS, variance=1.0, core=9)
        plain.observe_many(X, clicks)
        assert (learner.posterior.digest() == plain.posterior.digest()) == (discount == 0.0)
        learner.observe_many(X, clicks)
        assert learner.inheritance is None  # asked for the last time after 400
    with pytest.raises(ValueError, match="as many"):
        learner.start_from(source)


def test_a_saved_learner_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    learner, X = learnt()
    learner.save(tmp_path / "wide")
    again = WideFabCost.load(tmp_path / "wide")
    for each in (learner, again):
        each.observe_many(X[:50], np.arange(50) % 2)
    one, other = learner.state(), again.state()
    assert one[0] == other[0]
    assert all(np.array_equal(one[1][name], other[1][name]) for name in one[1])


@pytest.mark.parametrize(
    ("name", "value"),
    [("variance", -1.0), ("slots", 7), ("known", WEIGHTS), ("mean", np.nan), ("root", np.inf)],
)
def test_a_file_of_no_learner_that_can_be_is_refused(name: str, value: float) -> None:
    settings, arrays = learnt()[0].state()
    arrays = {key: each.copy() for key, each in arrays.items()}
    arrays[name].flat[-1] = value
    with pytest.raises(ValueError, match="must|each once|rise"):
        WideFabCost.restored(settings, arrays)


def test_draws_have_the_law_of_the_belief() -> None:
    """Of 90 standardised statistics of 4,000 draws one is beyond 5 in fewer than 1e-4 of runs."""
    learner, _ = learnt(core=20)
    belief, rng = learner.posterior, np.random.default_rng(5)
    columns = np.sort(rng.choice(WEIGHTS, 12, replace=False))
    draws = np.array([belief.drawn(columns, rng.random(3)) for _ in range(4000)])
    away = (draws - belief.mean[columns]) @ np.linalg.inv(
        np.linalg.cholesky(belief.covariance(columns))
    ).T
    assert (np.abs(away.mean(axis=0)) * np.sqrt(4000) < 5).all()
    assert (np.abs((away**2).mean(axis=0) - 1) * np.sqrt(4000 / 2) < 5).all()
    crossed = np.corrcoef(away.T) - np.eye(12)
    assert np.abs(crossed).max() * np.sqrt(4000) < 5


def test_the_law_of_scores_is_that_of_the_belief() -> None:
    """Also of rows that share nothing, of equal ones, and of zeros."""
    learner, X = learnt(core=20)
    belief, rows = learner.posterior, np.vstack([X[:12], X[:1], np.zeros((1, WEIGHTS))])
    centre, spread, noise = belief.law(rows)
    covariance = rows @ belief.covariance(np.arange(WEIGHTS)) @ rows.T
    np.testing.assert_allclose(centre, rows @ belief.mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(spread @ spread.T + np.diag(noise**2), covariance, atol=1e-12)
    assert (noise > 0).any()
    assert (spread[0] == spread[12]).all()
    assert noise[0] == noise[12] == noise[13] == 0.0


def test_propensities_are_those_of_the_same_covariance_in_full() -> None:
    """Both have 40,000 draws: 12 differences beyond 6 standard errors come once in 1e7 runs."""
    learner, X = learnt(core=20)
    belief, rows = learner.posterior, X[:12]
    dense = Gaussian(belief.mean, belief.covariance(np.arange(WEIGHTS)))
    rng = np.random.default_rng(6)
    ours = Thompson().shares(belief, as_sparse(rows, WEIGHTS), rng, 40_000)
    theirs = Thompson().shares(dense, rows, rng, 40_000)
    assert np.abs(ours - theirs).max() < 6 * np.sqrt(2 * 0.25 / 40_000)
    assert ours.sum() == pytest.approx(1.0)


def test_equal_rows_share_their_wins() -> None:
    learner, X = learnt()
    rows = X[[5, 3, 5, 5]]
    shares = Thompson().shares(learner.posterior, rows, np.random.default_rng(7), 1000)
    assert shares[0] == shares[2] == shares[3] > 0


@pytest.mark.parametrize(
    "rule", [Thompson(), Thompson(0.5), Greedy(), EpsilonGreedy(0.2), BayesianUCB(), Uniform()]
)
def test_a_bandit_chooses_by_every_rule(rule: Any) -> None:
    learner, X = learnt()
    bandit = Bandit(learner, policy=rule, seed=8)
    for candidates in (X[:7], csr_array(X[:7]), as_sparse(X[:7], WEIGHTS)):
        choice = bandit.choose(candidates, exclude=[2], draws=64, floor=0.07, top_k=3)  # type: ignore[arg-type]
        assert choice.propensities is not None
        assert choice.propensities[2] == 0.0
        assert choice.propensities.sum() == pytest.approx(1.0)
        others = np.delete(choice.propensities, 2)
        assert others.min() >= 0.01 - 1e-12
        assert choice.index != 2
        assert bandit.choose(candidates).scores.shape == (7,)  # type: ignore[arg-type]
    seen = learner.seen
    bandit.learn(X[1], clicked=True)
    assert learner.seen == seen + 1


def test_greedy_scores_and_bounds_are_those_of_the_marginals() -> None:
    learner, X = learnt()
    rng = np.random.default_rng(9)
    mean, variance = learner.posterior.marginal(X[:5])
    rows = as_sparse(X[:5], WEIGHTS)
    np.testing.assert_allclose(Greedy().scores(learner.posterior, rows, rng), mean, rtol=1e-12)
    bound = mean + 1.6448536269514722 * np.sqrt(variance)
    np.testing.assert_allclose(BayesianUCB().scores(learner.posterior, rows, rng), bound)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (([WEIGHTS], [1.0]), "a column is 60 but there are 60 weights"),
        (([-1], [1.0]), "a column is -1"),
        (([1], [np.nan]), "a value is nan"),
        (([1, 2], [1.0]), "indices have shape"),
        (([1.5], [1.0]), "must be whole numbers"),
        (np.ones(WEIGHTS + 1), "61 columns"),
        (np.ones((2, WEIGHTS)), "2 rows but one impression"),
    ],
)
def test_bad_rows_are_refused_and_change_nothing(row: Any, complaint: str) -> None:
    learner, _ = learnt()
    before = learner.posterior.copy()
    with pytest.raises(ValueError, match=complaint):
        learner.observe(row, 1)
    with pytest.raises(ValueError, match="y is 7"):
        learner.observe(([1], [1.0]), 7)
    assert np.array_equal(before.mean, learner.posterior.mean)
    assert np.array_equal(before.slots, learner.posterior.slots)


def test_a_row_of_zeros_teaches_nothing() -> None:
    learner, _ = learnt()
    before = learner.posterior.copy()
    learner.observe(([], []), 1)
    assert np.array_equal(before.mean, learner.posterior.mean)


def test_hashed_records_have_products_for_crosses_and_signs_if_asked() -> None:
    hashed = HashedFeatures(bits=16, signed=True, crosses=[("user", "price")], constant=False)
    row = hashed.row({"user": "u", "price": 2.5, "tags": ["x", "y"], "none": None, "new": True})
    expected = np.zeros(hashed.weights)
    for name, x in {
        "user=u": 1, "price": 2.5, "tags=x": 1, "tags=y": 1, "new": 1, "user=u^price": 2.5
    }.items():  # fmt: skip
        column, sign = hashed.column(name)
        expected[column] += sign * x
    np.testing.assert_array_equal(row.dense()[0], expected)
    signs = [hashed.column(f"name-{k}")[1] for k in range(400)]
    assert abs(sum(signs)) < 100  # 5 sds of a fair coin
    with pytest.raises(ValueError, match="'who' is"):
        hashed.row({"who": object()})


def test_rows_can_be_picked_and_dense_ones_are_bounded() -> None:
    _, X = learnt()
    rows = as_sparse(X, WEIGHTS)
    np.testing.assert_array_equal(rows[np.array([4, 1])].dense(), X[[4, 1]])
    np.testing.assert_array_equal(rows[3].dense(), X[[3]])
    np.testing.assert_allclose(rows.dot(np.eye(WEIGHTS)[:, :3].copy()), X[:, :3])
    with pytest.raises(ValueError, match="too many for an array"):
        np.asarray(as_sparse([([1], [1.0])] * 20, 2**20))


def test_settings_that_make_no_belief_are_refused() -> None:
    for settings in ({"variance": 0.0}, {"core": -1}, {"core": 5000}, {"after": 0}):
        with pytest.raises(ValueError, match="must"):
            WideFabCost(10, **settings)
    with pytest.raises(ValueError, match="dimension is 0"):
        WideGaussian(0)


def test_rows_say_whether_they_are_alike() -> None:
    rows = SparseRows.of_pairs([([1, 2], [1.0, 2.0]), ([1, 2], [1.0, 2.0]), ([1], [1.0])], 4)
    assert rows[[0, 1]].alike
    assert not rows.alike
    assert not rows[[0]].alike
    assert not SparseRows.of_pairs([([1], [1.0]), ([1], [2.0])], 4).alike
    assert not SparseRows.of_pairs([([1], [1.0]), ([2], [1.0])], 4).alike


def test_a_learner_has_the_name_of_its_belief() -> None:
    assert Wide(bits=7, core=3, after=4, variance=0.5).learner().name == Wide(7, 3, 4, 0.5)
    with pytest.raises(ValueError, match="power of two"):
        _ = WideFabCost(60).name
