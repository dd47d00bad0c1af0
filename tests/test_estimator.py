from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy.sparse import coo_array, csc_array, csr_matrix, issparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from fabcost import BayesianLogisticRegression, FabCost, Gaussian, HalfLife, Prior, Refresh
from fabcost.impressions import FloatArray
from fabcost.inference import adf, ep, laplace
from fabcost.sparse import SparseRows
from fabcost.training import Inference
from tests.simulated import cold_start

ROWS = 150
WEIGHTS = np.array([1.5, -0.7, 0.0])
INFERENCES = get_args(Inference)
each_inference = pytest.mark.parametrize("inference", INFERENCES)


@pytest.fixture(name="X")
def rows() -> FloatArray:
    return np.random.default_rng(1).normal(size=(ROWS, WEIGHTS.size))


@pytest.fixture
def y(X: FloatArray) -> npt.NDArray[np.bool_]:
    noise = np.random.default_rng(2).logistic(size=ROWS)
    return np.asarray(X @ WEIGHTS - 0.5 + noise > 0)


def with_ones(X: FloatArray) -> FloatArray:
    return np.column_stack([X, np.ones(X.shape[0])])


def fit_by_function(inference: str, prior: Gaussian, X: FloatArray, y: Any, **given: Any) -> Any:
    functions: dict[str, Any] = {"adf": adf.fit, "laplace": laplace.fit}
    if inference == "adf":  # in an order of its own
        order = adf.scattered(X, np.where(y, 1.0, -1.0))
        X, y, given = X[order], y[order], {name: each[order] for name, each in given.items()}
    return functions.get(inference, ep.fit)(prior, X, y, **given)


def not_meant(estimator: BayesianLogisticRegression) -> dict[str, str]:
    """Checks that a model is not to pass, with the reason."""
    if estimator.fit_intercept:
        return {}
    return {"check_class_weight_classifiers": "no line through the origin has all on one side"}


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [BayesianLogisticRegression(inference=inference) for inference in INFERENCES]
    + [BayesianLogisticRegression(fit_intercept=False)],
    expected_failed_checks=not_meant,
)
def test_follows_the_conventions_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@each_inference
def test_sparse_rows_give_the_posterior_of_dense_ones(
    inference: Inference, X: FloatArray, y: Any
) -> None:
    """Of any kind of matrix, in `fit` and `partial_fit`, with weights, and in predictions."""
    X = X * (np.abs(X) > 0.7)
    weight = 1.0 + (np.arange(ROWS) % 4)
    models = []
    for kind in (np.asarray, csr_matrix, csc_array, coo_array):
        model = BayesianLogisticRegression(inference=inference)
        model.fit(kind(X[:100]), y[:100], sample_weight=weight[:100])
        models.append(model.partial_fit(kind(X[100:]), y[100:]))
    dense = models[0]
    for model, kind in zip(models[1:], (csr_matrix, csc_array, coo_array), strict=True):
        np.testing.assert_allclose(model.coef_, dense.coef_, atol=1e-10)
        np.testing.assert_allclose(model.intercept_, dense.intercept_, atol=1e-10)
        np.testing.assert_allclose(model.covariance_, dense.covariance_, atol=1e-10)
        np.testing.assert_allclose(model.predict_proba(kind(X)), dense.predict_proba(X), atol=1e-10)
        np.testing.assert_array_equal(model.predict(kind(X)), dense.predict(X))


def test_columns_that_a_transformer_makes_stay_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"ad": rng.integers(30, size=200).astype(str), "hour": rng.random(200)})
    clicked = rng.random(200) < 0.3
    encode = make_column_transformer((OneHotEncoder(), ["ad"]), remainder="passthrough")
    assert issparse(encode.fit_transform(frame))

    dense = SparseRows.dense

    def few(rows: SparseRows) -> FloatArray:
        """Fewer than weights may be written out, for the first refreshes."""
        assert len(rows) < 31
        return dense(rows)

    monkeypatch.setattr(SparseRows, "dense", few)
    for inference in INFERENCES:
        model = make_pipeline(encode, BayesianLogisticRegression(inference=inference))
        assert model.fit(frame, clicked).predict_proba(frame).shape == (200, 2)


def test_sparse_columns_out_of_scale_are_named() -> None:
    rows = csr_matrix([[0.0, 12_000.0, 1e-5], [1.0, 0.0, 0.0], [0.0, 15_000.0, 0.0]])
    with pytest.warns(UserWarning, match="out of scale|standardise") as told:
        BayesianLogisticRegression(inference="adf").fit(rows, [0, 1, 0])
    assert [str(each.message).split(" are")[0] for each in told] == [
        "the numbers in column 1",
        "the numbers in column 2",
    ]


@each_inference
def test_weights_are_those_of_the_function(inference: Inference, X: FloatArray, y: Any) -> None:
    weight = np.round(np.random.default_rng(3).exponential(size=ROWS), 1)
    model = BayesianLogisticRegression(inference=inference).fit(X, y, sample_weight=weight)
    kept = weight > 0.0
    prior = Prior().belief(["numbers", "numbers", "numbers", "constant"])
    result = fit_by_function(inference, prior, with_ones(X)[kept], y[kept], weight=weight[kept])
    expected = result.posterior
    if inference != "adf":
        np.testing.assert_allclose(model.log_evidence_, result.log_evidence, rtol=1e-9)
    np.testing.assert_allclose(model.posterior_.mean, expected.mean, atol=1e-9)
    np.testing.assert_allclose(model.covariance_, expected.covariance, atol=1e-9)


@each_inference
def test_weights_of_classes_are_weights_of_their_rows(
    inference: Inference, X: FloatArray, y: Any
) -> None:
    rows = np.where(y, 3.0, 0.5)
    expected = BayesianLogisticRegression(inference=inference).fit(X, y, sample_weight=rows)
    weighted = BayesianLogisticRegression(inference=inference, class_weight={True: 3.0, False: 0.5})
    assert weighted.fit(X, y).posterior_ == expected.posterior_
    part = clone(weighted).partial_fit(X, y, classes=[False, True])
    by_rows = BayesianLogisticRegression(inference=inference)
    by_rows.partial_fit(X, y, classes=[False, True], sample_weight=rows)
    assert part.posterior_ == by_rows.posterior_
    shares = ROWS / 2 / np.where(y, y.sum(), ROWS - y.sum())
    expected.fit(X, y, sample_weight=shares)
    assert weighted.set_params(class_weight="balanced").fit(X, y).posterior_ == expected.posterior_
    with pytest.raises(ValueError, match="class_weight is 'balanced' but must be a dictionary"):
        clone(weighted).partial_fit(X, y, classes=[False, True])


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
@each_inference
def test_whole_weights_are_repeated_rows_in_any_order(
    inference: Inference, kind: Any, X: FloatArray, y: Any
) -> None:
    weight, rng = np.arange(ROWS) % 4, np.random.default_rng(5)
    model = BayesianLogisticRegression(inference=inference)
    weighted = clone(model).fit(kind(X), y, sample_weight=weight)
    order = rng.permutation(int(weight.sum()))
    copies = model.fit(kind(X.repeat(weight, axis=0)[order]), y.repeat(weight)[order])
    gap = np.abs(copies.posterior_.mean - weighted.posterior_.mean) / weighted.posterior_.sd
    assert gap.max() < 1e-9
    assert copies.log_evidence_ == pytest.approx(weighted.log_evidence_, rel=1e-9, nan_ok=True)


@pytest.mark.parametrize("moments", ["exact", "mackay"])
def test_sorted_rows_do_not_mislead_one_pass(moments: Any, X: FloatArray, y: Any) -> None:
    """Rows sorted by class, which ADF in their order is far off with, have the same bits."""
    model = BayesianLogisticRegression(inference="adf", moments=moments)
    twice, order = np.repeat(X, 2, axis=0), np.argsort(np.repeat(y, 2), kind="stable")
    labels = np.repeat(y, 2)
    expected = clone(model).fit(twice, labels).posterior_
    assert clone(model).fit(twice[order], labels[order]).posterior_ == expected
    in_order = clone(model).partial_fit(twice[order], labels[order], classes=[False, True])
    truth = BayesianLogisticRegression(inference="ep").fit(twice, labels).posterior_
    near, far = (
        float(np.abs((each.mean - truth.mean) / truth.sd).max())
        for each in (expected, in_order.posterior_)
    )
    assert 2.0 * near < far


@each_inference
def test_attributes_are_those_of_the_function_on_the_design_with_the_intercept_last(
    inference: Inference, X: FloatArray, y: Any
) -> None:
    model = BayesianLogisticRegression(
        inference=inference, prior_variance=4.0, intercept_prior_variance=9.0
    ).fit(X, y)
    prior = Gaussian(np.zeros(4), np.diag([4.0, 4.0, 4.0, 9.0]))
    expected = fit_by_function(inference, prior, with_ones(X), y).posterior
    # EP stands still at the same point from wherever it starts, to its tolerance.
    atol = 1e-9 if inference in {"ep", "fab-cost"} else 0.0
    np.testing.assert_allclose(model.coef_, expected.mean[None, :3], rtol=0.0, atol=atol)
    np.testing.assert_allclose(model.intercept_, expected.mean[3:], rtol=0.0, atol=atol)
    np.testing.assert_allclose(model.covariance_, expected.covariance, rtol=0.0, atol=atol)


@each_inference
def test_without_intercept_the_design_is_x_itself(
    inference: Inference, X: FloatArray, y: Any
) -> None:
    model = BayesianLogisticRegression(inference=inference, fit_intercept=False).fit(X, y)
    expected = fit_by_function(inference, Gaussian.isotropic(3), X, y).posterior
    np.testing.assert_allclose(model.coef_[0], expected.mean, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(model.intercept_, [0.0])
    assert model.covariance_.shape == (3, 3)


def test_settings_reach_the_learner(X: FloatArray, y: Any) -> None:
    model = BayesianLogisticRegression(refresh=Refresh.at(50, 140), moments="mackay", most_kept=60)
    learner = FabCost(
        Prior().belief(["numbers", "numbers", "numbers", "constant"]),
        refresh=Refresh.at(50, 140),
        moments="mackay",
        most_kept=60,
    )
    learner.observe_many(with_ones(X), y)
    assert model.fit(X, y).posterior_ == learner.posterior


@pytest.mark.parametrize("inference", ["adf", "fab-cost"])
def test_two_halves_online_are_one_fit_bit_for_bit(
    inference: Inference, X: FloatArray, y: Any
) -> None:
    halves, whole = (BayesianLogisticRegression(inference=inference) for _ in range(2))
    halves.partial_fit(X[:75], y[:75], classes=[False, True]).partial_fit(X[75:], y[75:])
    assert halves.posterior_ == whole.partial_fit(X, y, classes=[False, True]).posterior_
    if inference == "fab-cost":  # as a stream
        whole.set_params(refresh=Refresh.geometric()).fit(X, y)
        assert halves.posterior_ == whole.posterior_


def test_a_fit_goes_on_as_scheduled(X: FloatArray, y: Any) -> None:
    """From EP's fixed point: the next refresh is when rows have grown by a tenth."""
    model = BayesianLogisticRegression().fit(X, y)
    settled = model.posterior_
    model.partial_fit(X[:14], y[:14])
    learner = FabCost(settled, refresh=Refresh.never())
    learner.observe_many(with_ones(X[:14]), y[:14])
    assert model.n_iter_ > 2
    assert model.posterior_ == learner.posterior
    assert model.partial_fit(X[:1], y[:1]).n_iter_ == 1


def test_two_halves_of_ep_are_one_fit(X: FloatArray, y: Any) -> None:
    whole = BayesianLogisticRegression(inference="ep").fit(X, y)
    halves = BayesianLogisticRegression(inference="ep")
    halves.partial_fit(X[:75], y[:75], classes=[False, True]).partial_fit(X[75:], y[75:])
    np.testing.assert_allclose(halves.coef_, whole.coef_, rtol=1e-8)
    np.testing.assert_allclose(halves.covariance_, whole.covariance_, rtol=1e-8, atol=1e-12)


def test_online_laplace_takes_the_last_posterior_as_prior(X: FloatArray, y: Any) -> None:
    model = BayesianLogisticRegression(inference="laplace").fit(X[:75], y[:75])
    expected = laplace.update(model.posterior_, with_ones(X[75:]), y[75:])
    assert model.partial_fit(X[75:], y[75:]).posterior_ == expected


@each_inference
def test_a_batch_of_one_class_is_enough_when_both_classes_are_named(
    inference: Inference, X: FloatArray
) -> None:
    model = BayesianLogisticRegression(inference=inference)
    model.partial_fit(X[:5], ["yes"] * 5, classes=["yes", "no"])
    assert list(model.classes_) == ["no", "yes"]
    assert list(model.predict(X[:5])) == ["yes"] * 5


@pytest.mark.parametrize("labels", [("a", "b"), (-1, 1), (3, 7), (False, True)])
def test_labels_may_be_any_two_values(labels: tuple[Any, Any], X: FloatArray, y: Any) -> None:
    named = np.where(y, labels[1], labels[0])
    model = BayesianLogisticRegression().fit(X, named)
    assert tuple(model.classes_) == labels
    assert set(model.predict(X)) == set(labels)
    assert model.posterior_ == BayesianLogisticRegression().fit(X, y).posterior_


def test_probabilities_integrate_the_posterior(X: FloatArray, y: Any) -> None:
    model = BayesianLogisticRegression().fit(X, y)
    probability = model.predict_proba(X)
    expected = model.posterior_.predict(with_ones(X))
    np.testing.assert_allclose(probability[:, 1], expected, rtol=1e-9)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-15)
    log_odds = np.log(probability[:, 1] / probability[:, 0])
    np.testing.assert_allclose(model.decision_function(X), log_odds, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("prior_variance", [1e-6, 0.1, 1.0, 100.0])
def test_sign_probability_and_class_agree(prior_variance: float, X: FloatArray, y: Any) -> None:
    model = BayesianLogisticRegression(prior_variance=prior_variance, fit_intercept=False).fit(X, y)
    at = np.vstack([X, 1e3 * X, 1e-6 * X, np.zeros((1, 3))])
    second = model.predict(at)
    np.testing.assert_array_equal(second, model.decision_function(at) > 0.0)
    np.testing.assert_array_equal(second, model.predict_proba(at)[:, 1] > 0.5)
    np.testing.assert_array_equal(second, at @ model.coef_[0] > 0.0)


def test_a_row_of_zeros_without_intercept_is_undecided(X: FloatArray, y: Any) -> None:
    model = BayesianLogisticRegression(fit_intercept=False).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba([[0.0, 0.0, 0.0]]), [[0.5, 0.5]])


def test_names_of_a_data_frame_are_kept_and_checked(X: FloatArray, y: Any) -> None:
    frame = pd.DataFrame(X, columns=["age", "price", "hour"])
    model = BayesianLogisticRegression().fit(frame, pd.Series(y))
    assert list(model.feature_names_in_) == ["age", "price", "hour"]
    assert model.n_features_in_ == 3
    wrong = frame.rename(columns={"age": "size"})
    with pytest.raises(ValueError, match="feature names"):
        model.predict(wrong)
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(wrong, y)


@each_inference
def test_works_in_a_pipeline_under_cross_validation(
    inference: Inference, X: FloatArray, y: Any
) -> None:
    model = make_pipeline(StandardScaler(), BayesianLogisticRegression(inference=inference))
    scores = cross_val_score(model, 50.0 + 9.0 * X, y, cv=3, scoring="roc_auc")
    assert scores.mean() > 0.75


@each_inference
def test_copies_learn_on_like_the_original(inference: Inference, X: FloatArray, y: Any) -> None:
    model = BayesianLogisticRegression(inference=inference).partial_fit(X[:75], y[:75], (0, 1))
    restored = pickle.loads(pickle.dumps(model))
    assert restored.partial_fit(X, y).posterior_ == model.partial_fit(X, y).posterior_
    assert not hasattr(clone(model), "posterior_")


@each_inference
@pytest.mark.parametrize("sparse", [False, True])
def test_a_pickle_does_not_grow_with_the_rows(
    inference: Inference, sparse: bool, X: FloatArray, y: Any
) -> None:
    some, more = (
        BayesianLogisticRegression(inference=inference).fit(
            csr_matrix(X[:many]) if sparse else X[:many], y[:many]
        )
        for many in (40, ROWS)
    )
    content = pickle.dumps(more)
    assert abs(len(content) - len(pickle.dumps(some))) < 100
    before = more.posterior_
    restored = pickle.loads(content)
    assert restored.posterior_ == before
    assert restored.converged_ == more.converged_
    assert more.partial_fit(X, y).n_iter_ >= 1  # the one that was pickled still has its rows
    if inference in {"ep", "fab-cost"}:
        assert len(pickle.dumps(more)) > len(content) + 8 * X.nbytes // 10


@each_inference
def test_what_is_unpickled_learns_on_from_its_belief(
    inference: Inference, X: FloatArray, y: Any
) -> None:
    model = BayesianLogisticRegression(inference=inference).fit(X[:75], y[:75])
    restored = pickle.loads(pickle.dumps(model)).partial_fit(X[75:], y[75:])
    # The belief so far is the prior of what follows: what the others do by a function of it.
    reference = BayesianLogisticRegression(inference="ep").fit(X, y)
    gap = restored.posterior_.mean - reference.posterior_.mean
    assert (np.abs(gap) < 0.5 * reference.posterior_.sd).all()
    if inference == "ep":
        then = ep.fit(model.posterior_, with_ones(X[75:]), y[75:]).posterior
        np.testing.assert_allclose(restored.posterior_.mean, then.mean, rtol=0, atol=1e-4)
        np.testing.assert_allclose(restored.posterior_.sd, then.sd, rtol=1e-3)


def test_intervals_are_quantiles_of_the_probability(X: FloatArray, y: Any) -> None:
    model = BayesianLogisticRegression().fit(X, y)
    found = model.predict_interval(X[:20], level=0.8)
    draws = model.posterior_.sample(np.random.default_rng(4), 40_000)
    drawn = expit(with_ones(X[:20]) @ draws.T)
    # The sd of a share of 0.1 in 40,000 draws is 0.0015; each of 40 is beyond 5 at 6e-7.
    np.testing.assert_allclose((drawn < found[:, :1]).mean(axis=1), 0.1, rtol=0, atol=0.0075)
    np.testing.assert_allclose((drawn > found[:, 1:]).mean(axis=1), 0.1, rtol=0, atol=0.0075)
    inside = model.predict_proba(X[:20])[:, 1]
    assert ((found[:, 0] < inside) & (inside < found[:, 1])).all()
    with pytest.raises(ValueError, match="level is 1.0 but must lie between 0 and 1"):
        model.predict_interval(X, level=1.0)


def test_log_probabilities_are_those_of_the_probabilities(X: FloatArray, y: Any) -> None:
    model = BayesianLogisticRegression(inference="laplace").fit(X, y)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)))
    sure = BayesianLogisticRegression(fit_intercept=False, inference="laplace", prior_variance=1e6)
    with pytest.warns(UserWarning, match="too large"):
        sure.fit(np.repeat([[1.0], [-1.0]], 400, axis=0), np.repeat([1, 0], 400))
    far = sure.predict_log_proba([[-300.0]])
    assert np.isfinite(far).all()


def test_clone_keeps_the_schedule() -> None:
    model = BayesianLogisticRegression(refresh=Refresh.at(10))
    assert clone(model).refresh == Refresh.at(10)


@pytest.mark.parametrize("inference", ["adf", "laplace", "fab-cost"])
def test_parameters_set_later_wait_for_the_next_fit(
    inference: Inference, X: FloatArray, y: Any
) -> None:
    model = BayesianLogisticRegression(inference=inference).fit(X[:75], y[:75])
    changed = clone(model).fit(X[:75], y[:75]).set_params(inference="ep", fit_intercept=False)
    assert changed.partial_fit(X, y).posterior_ == model.partial_fit(X, y).posterior_
    assert changed.fit(X, y).posterior_.dimension == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inference": "vb"}, r"inference is 'vb' .* 'fab-cost', 'ep', 'adf', 'laplace'"),
        ({"inference": "ep", "window": 5}, "window is 5 but must be None with inference='ep'"),
        ({"inference": "adf", "refresh": Refresh.always()}, r"refresh is .* must be None"),
        ({"prior_variance": -1.0}, "variance is -1.0"),
        ({"intercept_prior_variance": 0.0}, "variance is 0.0"),
        ({"moments": "rough"}, "moments is 'rough' but must be 'exact' or 'mackay'"),
        ({"tolerance": 0.0}, "tolerance is 0.0"),
        ({"max_sweeps": 0}, "max_sweeps is 0"),
        ({"most_kept": 0}, "most_kept is 0"),
    ],
)
def test_wrong_parameters_are_named(
    settings: dict[str, Any], message: str, X: FloatArray, y: Any
) -> None:
    with pytest.raises(ValueError, match=message):
        BayesianLogisticRegression(**settings).fit(X, y)


def test_wrong_numbers_of_classes_are_named(X: FloatArray, y: Any) -> None:
    model = BayesianLogisticRegression()
    with pytest.raises(ValueError, match=r"y has 1 class, \[0\], but must have exactly two"):
        model.fit(X, np.zeros(ROWS, dtype=int))
    with pytest.raises(ValueError, match="y has 3 classes"):
        model.fit(X, np.arange(ROWS) % 3)
    with pytest.raises(ValueError, match="classes has 3 classes"):
        model.partial_fit(X, y, classes=[0, 1, 2])


def test_classes_must_be_named_first_and_stay(X: FloatArray, y: Any) -> None:
    model = BayesianLogisticRegression()
    with pytest.raises(ValueError, match="classes is None but the first partial_fit"):
        model.partial_fit(X, y)
    model.partial_fit(X, y, classes=[0, 1]).partial_fit(X, y, classes=[1, 0])
    with pytest.raises(ValueError, match=r"classes are \[0 2\] but were \[0 1\]"):
        model.partial_fit(X, y, classes=[0, 2])


@pytest.mark.parametrize("stranger", [2, 0.5, "yes"])
def test_a_label_of_neither_class_is_named_and_changes_nothing(
    stranger: Any, X: FloatArray, y: Any
) -> None:
    model = BayesianLogisticRegression().fit(X, y)
    before = model.posterior_
    with pytest.raises(ValueError, match=r"y contains .* but the classes are"):
        model.partial_fit(X[:2], np.array([0, stranger], dtype=object))
    assert model.posterior_ is before


def test_says_when_it_did_not_converge() -> None:
    X, y = cold_start(200, 4)
    hurried = BayesianLogisticRegression(inference="ep", max_sweeps=2)
    with pytest.warns(ConvergenceWarning, match="still moves after 2 sweeps"):
        hurried.fit(X, y)
    assert not hurried.converged_
    assert BayesianLogisticRegression(inference="ep").fit(X, y).converged_
    paper = Refresh.at(150, max_sweeps=2)
    with pytest.warns(ConvergenceWarning, match="impression 150 still moves"):
        scheduled = BayesianLogisticRegression(refresh=paper).fit(X, y)
    assert not scheduled.converged_
    assert BayesianLogisticRegression(inference="laplace").fit(X, y).converged_


def test_says_how_many_passes_it_took() -> None:
    X, y = cold_start(200, 4)
    prior = Prior().belief(["numbers", "numbers", "numbers", "numbers", "constant"])
    design = np.column_stack([X, np.ones(200)])
    found = BayesianLogisticRegression(inference="ep").fit(X, y)
    assert 2 < found.n_iter_ <= ep.fit(prior, design, y).sweeps
    found = BayesianLogisticRegression(inference="laplace").fit(X, y)
    assert found.n_iter_ == laplace.fit(prior, design, y).iterations > 2
    assert found.posterior_ == laplace.update(prior, design, y)
    assert found.partial_fit(X[:1], y[:1]).n_iter_ == 1
    assert BayesianLogisticRegression(inference="adf").fit(X, y).n_iter_ == 1
    scheduled = BayesianLogisticRegression(refresh=Refresh.at(150)).fit(X, y)
    assert scheduled.n_iter_ > 2


def test_says_what_was_skipped_and_has_no_evidence_then() -> None:
    X, y = cold_start(300, 15, intercept=-4.0)
    vague = BayesianLogisticRegression(
        inference="ep", moments="mackay", max_sweeps=20, fit_intercept=False, prior_variance=100.0
    )
    with pytest.warns(ConvergenceWarning, match="visits were skipped; log_evidence_ is NaN"):
        vague.fit(X, y)
    assert vague.skipped_ > 0
    assert np.isnan(vague.log_evidence_)
    assert BayesianLogisticRegression(inference="ep").fit(X, y).skipped_ == 0


@pytest.mark.parametrize("inference", ["ep", "laplace"])
def test_evidence_and_iterations_are_those_of_the_function(
    inference: Inference, X: FloatArray, y: Any
) -> None:
    model = BayesianLogisticRegression(inference=inference).fit(X, y)
    fit = ep.fit if inference == "ep" else laplace.fit
    result = fit(Prior().belief(["numbers", "numbers", "numbers", "constant"]), with_ones(X), y)
    np.testing.assert_allclose(model.log_evidence_, result.log_evidence, rtol=1e-9)
    assert model.converged_
    assert 2 <= model.n_iter_ <= result.iterations
    assert np.isnan(model.partial_fit(X, y).log_evidence_)


def test_columns_far_from_the_prior_are_named(X: FloatArray, y: Any) -> None:
    frame = pd.DataFrame(X * [1.0, 9000.0, 1e-4], columns=["age", "price", "share"])
    model = BayesianLogisticRegression()
    with (
        pytest.warns(
            UserWarning, match="in column price are too large for weights of sd 1: standard"
        ),
        pytest.warns(UserWarning, match="in column share are too small"),
    ):
        model.fit(frame, y)
    with pytest.warns(UserWarning, match="in columns 0, 1, 2 are too large"):
        model.fit(1000.0 * X, y)
    make_pipeline(StandardScaler(), model).fit(frame, y)


@pytest.mark.parametrize("variance", [1e-6, 1.0, 100.0])
def test_ordinary_columns_are_not_warned_of(variance: float, X: FloatArray, y: Any) -> None:
    rare = np.zeros((ROWS, 1))
    rare[3] = 1.0
    percent = np.full((ROWS, 1), 70.0 if variance <= 1.0 else 7.0)
    rows = np.column_stack([X, rare, percent, np.zeros((ROWS, 1))])
    BayesianLogisticRegression(prior_variance=variance).fit(rows, y)


@pytest.mark.parametrize("size", [50, 200])
def test_predicts_better_than_the_constant_and_scikit_learn_on_average(size: int) -> None:
    """Means over sets and ten splits, three sds apart; the study of priors has each interval."""
    ours, theirs, constant = np.mean(
        [_losses(rows, size, seed) for rows in _small_sets() for seed in range(10)], axis=0
    )
    assert ours < theirs
    assert ours < constant


def _small_sets() -> Iterator[tuple[FloatArray, FloatArray]]:
    cancer, diabetes = load_breast_cancer(), load_diabetes()
    yield cancer.data, cancer.target.astype(float)
    yield diabetes.data, (diabetes.target > np.quantile(diabetes.target, 0.9)).astype(float)
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(2000, 10))
    yield (
        rows,
        (rng.random(2000) < expit(rows @ rng.normal(size=10, scale=0.5) - 2.0)).astype(float),
    )


def _losses(data: tuple[FloatArray, FloatArray], size: int, seed: int) -> list[float]:
    rows, y = data
    order = np.random.default_rng(seed).permutation(y.size)
    train, rest = order[:size], order[size:]
    scale = StandardScaler().fit(rows[train])
    X, held_out = scale.transform(rows[train]), scale.transform(rows[rest])
    models = (BayesianLogisticRegression(), LogisticRegression())
    found = [each.fit(X, y[train]).predict_proba(held_out) for each in models]
    share = np.full(rest.size, y[train].mean())
    return [log_loss(y[rest], each) for each in (*found, share)]


@pytest.mark.parametrize("inference", ["fab-cost", "adf"])
def test_a_half_life_follows_what_is_new(inference: Inference) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4_000, 1))
    y = rng.random(4_000) < expit(np.where(np.arange(4_000) < 3_000, 2.0, -2.0) * X[:, 0])
    kept, faded = (
        BayesianLogisticRegression(inference=inference, half_life=half_life)
        for half_life in (None, 100)
    )
    for model in (kept, faded):
        for start in range(0, 4_000, 500):
            part = slice(start, start + 500)
            model.partial_fit(X[part], y[part], classes=[False, True])
    assert faded.coef_.item() < -1.0 < 0.0 < kept.coef_.item()


def test_the_old_name_of_most_kept() -> None:
    with pytest.warns(DeprecationWarning, match="most_kept"):
        BayesianLogisticRegression(window=3).fit([[1.0], [2.0], [3.0]], [0, 1, 0])


@pytest.mark.parametrize("inference", ["fab-cost", "adf"])
def test_a_half_life_in_seconds_goes_by_the_times_of_rows(inference: Inference) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 2))
    y = rng.random(200) < expit(X[:, 0])
    times, weight = np.linspace(0.0, 900.0, 200), np.arange(200) % 4 / 2.0
    half_life = HalfLife(100.0, "seconds")
    model = BayesianLogisticRegression(inference=inference, half_life=half_life)
    for some in (slice(0, 90), slice(90, 200)):
        model.partial_fit(X[some], y[some], [0, 1], weight[some], at=times[some])
    refresh = Refresh.never() if inference == "adf" else None
    prior = Gaussian(np.zeros(3), np.diag([model.prior_variance] * 2 + [Prior().constant]))
    learner = FabCost(prior, half_life=half_life, refresh=refresh)
    learner.observe_many(np.column_stack([X, np.ones(200)]), y, weight=weight, at=times)
    np.testing.assert_allclose(model.posterior_.mean, learner.posterior.mean, rtol=1e-9)
    np.testing.assert_allclose(model.posterior_.sd, learner.posterior.sd, rtol=1e-9)
    with pytest.raises(ValueError, match="a half-life in seconds needs the time"):
        model.partial_fit(X, y)
    assert model.partial_fit(X[:1], y[:1], at=2_000.0).posterior_.sd[0] > learner.posterior.sd[0]
