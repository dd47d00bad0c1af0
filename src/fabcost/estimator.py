"""The inference functions as a scikit-learn classifier."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from fabcost import training
from fabcost.gaussian import Marginal
from fabcost.impressions import FloatArray, GivenRows
from fabcost.inference.ep import MAX_SWEEPS, TOLERANCE, Refresh
from fabcost.inference.forgetting import HalfLife
from fabcost.inference.online import FabCost
from fabcost.inference.saved.state import without_rows
from fabcost.inference.summary import LEVEL, Summary, sds_of, summarise
from fabcost.prior import Prior
from fabcost.tilted import Moments, is_exact, tilted
from fabcost.training import ClassWeight, Design, Inference, Weights

_SMALLEST_PREDICTIVE_VARIANCE = 1e-300
_PRIOR = Prior()


class BayesianLogisticRegression(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""Two-class logistic regression with a Gaussian posterior over its weights.

    With labels :math:`y_i = \pm 1` (+1 for ``classes_[1]``) the model is
    :math:`p(y_i \mid x_i, w, b) = \sigma(y_i (w^\top x_i + b))` under the prior
    :math:`w_j \sim \mathcal{N}(0, v)`, :math:`b \sim \mathcal{N}(0, v_b)`, and a prediction
    integrates what is not known of the weights,
    :math:`p(y \mid x) = \int \sigma(y\,(w^\top x + b))\,q(w, b)\,dw\,db`.
    The prior has one scale for all weights: put a ``StandardScaler`` before it.  A warning names
    columns that are out of scale; they are taken as they are.

    Parameters
    ----------
    inference
        How q is found.  "adf": one pass over the rows, keeping none of them.  "fab-cost": that
        pass, refined by EP on a schedule; but `fit`, which has all rows, is that of "ep" unless
        one of ``refresh``, ``most_kept`` and ``half_life`` is given.  "ep": expectation
        propagation to convergence.  "laplace": the mode and its curvature.
    prior_variance
        v.  That of `fabcost.Prior` says that one sd of a column moves the log-odds by about 1.
    fit_intercept
        Whether the model has the intercept b.
    intercept_prior_variance
        :math:`v_b`, wide since rates differ by orders of magnitude; None for ``prior_variance``.
    moments
        How "adf", "fab-cost" and "ep" match moments: "exact" or the paper's "mackay".
        Predictions use the exact integral in any case.
    refresh
        When "fab-cost" refines, a `fabcost.Refresh` or a function of the number of rows; None
        for `fabcost.Refresh.geometric`.  Pickling needs a function that can be pickled.
    most_kept
        How many of the last rows "fab-cost" keeps to refine; None for all.
    half_life
        Rows after which "fab-cost" and "adf" count what a row says half, or a `fabcost.HalfLife`;
        None for never.  One in seconds is for `partial_fit`, which has the times.
    tolerance
        "ep" and "fab-cost" refine until what is still to come is below this many posterior sds.
    max_sweeps
        The most passes of EP in one call; those of a schedule are set in ``refresh``.
    class_weight
        Weights of the classes, by label, or "balanced" for shares of equal weight (in `fit` only);
        None for one each.  They multiply those of the rows.
    window
        The old name of ``most_kept``; see `fabcost.FabCost`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels, sorted.
    posterior_ : Gaussian
        q over the weights in the order of the features, the intercept LAST.
    coef_ : ndarray of shape (1, n_features)
        Posterior mean of the weights.
    intercept_ : ndarray of shape (1,)
        Posterior mean of the intercept; 0 without one.
    covariance_ : ndarray of shape (n_features + 1, n_features + 1)
        Posterior covariance, the intercept in the LAST row and column; n_features × n_features
        without one.
    converged_ : bool
        Whether EP, wherever it was to sweep until nothing moves, did so; if not, there was a
        warning.
    n_iter_ : int
        Passes over the rows: of "ep" and "fab-cost" the sweeps of the last refinement, of
        "laplace" the Newton steps of the last call; 1 where there were none.
    log_evidence_ : float
        The estimate of log p(y | X) of `fit` with EP to convergence or "laplace".  NaN else, after
        `partial_fit`, and where EP skipped visits in its last sweep, whose factors it then lacks.
    skipped_ : int
        Steps and visits left out because they would have left the cone of positive definite
        covariances (only "mackay" has any on ordinary data).
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names that are all strings.

    Examples
    --------
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], ["skip", "skip", "click", "skip"]
    >>> model = BayesianLogisticRegression(inference="ep", prior_variance=4.0).fit(X, y)
    >>> model.classes_, model.predict_proba([[-1.5], [30.0]]).round(3)
    (array(['click', 'skip'], dtype='<U5'), array([[0.139, 0.861],
           [0.796, 0.204]]))
    """

    def __init__(
        self,
        *,
        inference: Inference = "fab-cost",
        prior_variance: float = _PRIOR.numbers,
        fit_intercept: bool = True,
        intercept_prior_variance: float | None = _PRIOR.constant,
        moments: Moments = "exact",
        refresh: Refresh | Callable[[int], bool] | None = None,
        most_kept: int | None = None,
        half_life: HalfLife | float | None = None,
        tolerance: float = TOLERANCE,
        max_sweeps: int = MAX_SWEEPS,
        class_weight: ClassWeight = None,
        window: int | None = None,
    ) -> None:
        self.inference = inference
        self.prior_variance = prior_variance
        self.fit_intercept = fit_intercept
        self.intercept_prior_variance = intercept_prior_variance
        self.moments = moments
        self.refresh = refresh
        self.most_kept = most_kept
        self.half_life = half_life
        self.tolerance = tolerance
        self.max_sweeps = max_sweeps
        self.class_weight = class_weight
        self.window = window

    def fit(
        self, X: GivenRows, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Learn from these rows alone; what was learnt before is forgotten.

        Equal rows are made one, and no order matters: "adf", which sorted rows would mislead, takes
        one of its own.  But where ``refresh``, ``most_kept`` or ``half_life`` is given, rows count
        in their order.  A pickle made then learns on, but does not refine what these rows said.

        Parameters
        ----------
        X, y
            The rows, an array or a matrix of `scipy.sparse`, and their labels.
        sample_weight
            How many impressions each row stands for, whole or not; one unless given.  A weight of
            two is the row twice; a row's impressions are matched at once.
        """
        rows, labels = self._validated(X, y)
        check_classification_targets(labels)
        classes = training.two_classes(labels, "y")
        weight = training.row_weights(labels, classes, sample_weight, self.class_weight)
        self._begin(classes, rows)
        return self._learn(rows, labels, weight, is_all=True)

    def partial_fit(
        self,
        X: GivenRows,
        y: npt.ArrayLike,
        classes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        at: npt.ArrayLike | None = None,
    ) -> Self:
        """Learn from further rows.

        The posterior so far is the prior of the new rows; "fab-cost" and "ep" also refine what
        earlier rows said.  The parameters are those of the `fit` or `partial_fit` that came first.

        Parameters
        ----------
        X, y
            The new rows only; y may be all of one class.
        classes
            Both labels; needed in the first call.
        sample_weight, at
            As in `fit`; and the times of the rows, or one for all, for a half-life in seconds.
        """
        first = not hasattr(self, "posterior_")
        both = training.both_classes(classes, getattr(self, "classes_", None))
        rows, labels = self._validated(X, y, reset=first)
        training.check_known(labels, both)
        given = training.for_a_part(self.class_weight)
        weight = training.row_weights(labels, both, sample_weight, given)
        if first:
            self._begin(both, rows)
        return self._learn(rows, labels, weight, at, is_all=False)

    def decision_function(self, X: GivenRows) -> FloatArray:
        """Log-odds of ``classes_[1]``, log p₁/p₀ of the probabilities of `predict_proba`.

        The sign is that of the posterior mean of wᵀx + b, but uncertain rows are nearer to 0.
        """
        mean, variance = self._marginal(X)
        # A row of zeros without an intercept has variance zero; any tiny one gives the same ½.
        variance = np.maximum(variance, _SMALLEST_PREDICTIVE_VARIANCE)
        return tilted(mean, variance).log_z - tilted(mean, variance, -1.0).log_z

    def predict_proba(self, X: GivenRows) -> FloatArray:
        """Probability of each class, a column for each, with the posterior integrated out."""
        log_odds = self.decision_function(X)
        # σ(∓ log p₁/p₀) sums to one where the two integrals do so only to their accuracy.
        return np.column_stack([expit(-log_odds), expit(log_odds)])

    def predict_log_proba(self, X: GivenRows) -> FloatArray:
        """Logarithms of `predict_proba`, also where these are too small for a number."""
        log_odds = self.decision_function(X)
        return np.column_stack([log_expit(-log_odds), log_expit(log_odds)])

    def predict_interval(self, X: GivenRows, level: float = LEVEL) -> FloatArray:
        r"""Central interval of the probability of ``classes_[1]``: from and to, for each row.

        The log-odds of a row are normal, and σ is monotone: its quantiles are
        :math:`\sigma(\mu \pm z s)`.  It is how well the probability is known, not the label.

        Examples
        --------
        >>> model = BayesianLogisticRegression().fit([[-1.0], [0.0], [1.0]], [0, 1, 1])
        >>> model.predict_interval([[1.0]], level=0.8).round(2)
        array([[0.38, 0.98]])
        """
        centre, variance = self._marginal(X)
        half = sds_of(level) * np.sqrt(variance)
        return expit(np.column_stack([centre - half, centre + half]))

    def summary(self, *, level: float = LEVEL) -> Summary:
        """Names, means, sds and intervals of the weights, as a table; the intercept is last."""
        check_is_fitted(self)
        names = [*_check_feature_names_in(self), "intercept"][: self.posterior_.dimension]
        title = f"{type(self).__name__}: weights in the log-odds of {self.classes_[1]!s}"
        return summarise(title, self.posterior_, names, level=level)

    def predict(self, X: GivenRows) -> npt.NDArray[Any]:
        """Choose the more probable class of each row, ``classes_[0]`` if neither is."""
        likelier = self.decision_function(X) > 0.0
        return np.asarray(self.classes_[likelier.astype(np.intp)])

    @property
    def converged_(self) -> bool:
        """Whether EP ended where it was to, as far as it was to sweep until nothing moves."""
        if self._learner is None or self._begun_as == "ep":
            return self._last_converged
        return self._last_converged and self._learner.unconverged == 0

    @property
    def n_iter_(self) -> int:
        """Sweeps or Newton steps that the posterior took last."""
        if self._learner is None:
            return self._newton_steps
        swept = self._learner.last_refresh
        return 1 if swept is None else swept.sweeps

    @property
    def skipped_(self) -> int:
        """Steps and visits that were left out."""
        return 0 if self._learner is None else self._learner.skipped

    @property
    def coef_(self) -> FloatArray:
        """Posterior mean of the weights, (1, n_features)."""
        return self.posterior_.mean[None, : self.n_features_in_]

    @property
    def intercept_(self) -> FloatArray:
        """Posterior mean of the intercept, (1,); 0 without one."""
        has_one = self.posterior_.dimension > self.n_features_in_
        return self.posterior_.mean[-1:] if has_one else np.zeros(1)

    @property
    def covariance_(self) -> FloatArray:
        """Posterior covariance; the intercept is the last row and column."""
        return self.posterior_.covariance

    def __getstate__(self) -> dict[str, Any]:
        """What was learnt; of rows that `fit` had none, of those of `partial_fit` all kept."""
        state: dict[str, Any] = super().__getstate__()
        if state.get("_learner") is not None and getattr(self, "_is_whole", False):
            state["_learner"] = without_rows(state["_learner"])
        return state

    def _html_repr(self) -> str:
        """scikit-learn's diagram and, below, what was learnt."""
        learnt = self.summary()._repr_html_() if hasattr(self, "posterior_") else ""
        return f"{super()._html_repr()}{learnt}"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class, tags.input_tags.sparse = False, True
        return tags

    def _begin(self, classes: npt.NDArray[Any], rows: Design) -> None:
        """Back to the prior, with the parameters as they are now."""
        own = self.intercept_prior_variance
        intercept = (self.prior_variance if own is None else own) if self.fit_intercept else None
        prior = training.prior(self.n_features_in_, self.prior_variance, intercept)
        given = {name: getattr(self, name) for name in ("most_kept", "half_life", "window")}
        streamed = given | {"refresh": self.refresh}
        training.check_inference(self.inference, **streamed)
        self._is_stream = any(x is not None for x in streamed.values())
        is_exact(self.moments)
        names = getattr(self, "feature_names_in_", np.arange(rows.shape[1]))
        for complaint in training.complaints(rows, names, self.prior_variance):
            warnings.warn(complaint, UserWarning, stacklevel=3)
        self._learner = None  # Laplace needs no more than its last posterior.
        if self.inference != "laplace":
            schedule = training.schedule(self.inference, self.refresh, self.max_sweeps)
            given |= {"moments": self.moments, "tolerance": self.tolerance}
            self._learner = FabCost(prior, refresh=schedule, **given)
        self._newton_steps, self._last_converged, self._begun_as = 1, True, self.inference
        self.classes_, self.posterior_ = classes, prior

    def _learn(
        self, rows: Design, y: npt.NDArray[Any], weight: Weights, at: Any = None, *, is_all: bool
    ) -> Self:
        # The posterior, not fit_intercept, says what the model that was begun has.
        design = training.design(rows, self.posterior_.dimension)
        lesson = training.lesson(design, y == self.classes_[1], weight, at)
        evidence = math.nan
        if self._learner is None:
            self.posterior_, self._newton_steps, evidence = training.step(self.posterior_, lesson)
        elif is_all and not self._is_stream:
            whole = training.teach_whole(self._learner, lesson, self.max_sweeps)
            self._last_converged, evidence = whole[0].converged, whole[1]
        else:
            training.teach(self._learner, lesson, is_all=is_all)
            if self._begun_as == "ep":
                self._last_converged = training.refine(self._learner, self.max_sweeps).converged
        if self._learner is not None:
            self.posterior_ = self._learner.posterior
        self.log_evidence_, self._is_whole = evidence if is_all else math.nan, is_all
        return self

    def _marginal(self, X: GivenRows) -> Marginal:
        check_is_fitted(self)
        design = training.design(self._validated(X, reset=False), self.posterior_.dimension)
        return self.posterior_.marginal(design)

    def _validated(self, X: GivenRows, *y: npt.ArrayLike, reset: bool = True) -> Any:
        return validate_data(self, X, *y, accept_sparse="csr", dtype=np.float64, reset=reset)
