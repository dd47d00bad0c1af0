"""Whatever can be saved is saved and loaded by one pair of functions."""

from __future__ import annotations

from pathlib import Path
from pickle import dumps, loads
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import fabcost
from fabcost import archive
from fabcost.features.hashed import hashed
from fabcost.notebook import classifier
from tests.storage.mutations import mutations

ITEMS = {"ad-1": {"make": "ford", "age": 3}, "ad-2": {"make": "kia", "age": 1}}


def test_a_recommender_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    rec = fabcost.Recommender(fabcost.Schema.open(), seed=7)
    pending = rec.recommend({"device": "tv"}, ITEMS)
    fabcost.save(rec, tmp_path / "file")
    other = fabcost.load(tmp_path / "file")
    assert type(other) is fabcost.Recommender
    for each in (rec, other):
        each.feedback(pending.id, clicked=True)
    assert other.to_bytes() == rec.to_bytes()
    rec.save(tmp_path / "by itself")
    assert fabcost.load(tmp_path / "by itself").to_bytes() == rec.to_bytes()


def test_a_wide_learner(tmp_path: Path) -> None:
    learner = fabcost.WideFabCost(64)
    learner.observe(([3], [1.0]), 1)
    fabcost.save(learner, tmp_path / "file")
    other = fabcost.load(tmp_path / "file")
    assert type(other) is fabcost.WideFabCost
    assert other.posterior.mean.tolist() == learner.posterior.mean.tolist()


def test_a_schema_grows_on_alike(tmp_path: Path) -> None:
    schema = fabcost.Schema.open()
    schema.design([{"age": 3}, {"age": 5, "make": "kia"}])
    fabcost.save(schema, tmp_path / "file")
    other = fabcost.load(tmp_path / "file")
    assert other.to_dict() == schema.to_dict()
    more = [{"age": 9, "make": "ford"}]
    assert other.design(more).tolist() == schema.design(more).tolist()
    assert other.columns == schema.columns


def again(what: Any, folder: Path) -> Any:
    fabcost.save(what, folder / "file")
    other = fabcost.load(folder / "file")
    assert type(other) is type(what)
    return other


def test_a_belief_and_the_bandits(tmp_path: Path) -> None:
    learner = fabcost.FabCost(fabcost.Gaussian.isotropic(3, variance=4.0))
    learner.observe_many(X, y == "yes")
    assert again(learner.posterior, tmp_path) == learner.posterior
    bandit = fabcost.Bandit(learner, policy=fabcost.Thompson(), seed=7)
    beta = fabcost.BetaBernoulli((1.0, 9.0), seed=7)
    beta.learn("b", clicked=True)
    pairs: list[tuple[Any, Any]] = [(bandit, X), (beta, ["a", "b", 7])]
    for one, candidates in pairs:
        other = again(one, tmp_path)
        for each in (one, other):
            each.learn(candidates[-1], clicked=True)
        chosen = [[each.choose(candidates).index for _ in range(9)] for each in (one, other)]
        assert chosen[0] == chosen[1]
    assert again(beta, tmp_path).counts("b") == (1, 0)


X = np.random.default_rng(3).standard_normal((60, 3))
y = np.where(X[:, 0] > 0.3, "yes", "no")
MODELS: list[dict[str, Any]] = [
    {"inference": "ep"},
    {"inference": "adf", "half_life": 40.0},
    {"inference": "laplace", "class_weight": {"yes": 2.0, "no": 1.0}},
    {"refresh": fabcost.Refresh.at(10, 30), "most_kept": 20, "fit_intercept": False},
    {"class_weight": "balanced"},
]


@pytest.mark.parametrize("given", MODELS, ids=lambda given: next(iter(given)))
@pytest.mark.parametrize("partial", [False, True])
def test_a_classifier_goes_on_as_its_pickle_does(
    given: dict[str, Any], partial: bool, tmp_path: Path
) -> None:
    model = fabcost.BayesianLogisticRegression(**given)
    assert again(model, tmp_path).get_params() == model.get_params()
    given_in_parts = partial and given.get("class_weight") != "balanced"
    learn = model.partial_fit if given_in_parts else model.fit
    learn(X, y, **({"classes": ["no", "yes"]} if given_in_parts else {}))
    saved, pickled = again(model, tmp_path), loads(dumps(model))
    for each in (saved, pickled):
        assert (each.n_iter_, each.converged_) == (model.n_iter_, model.converged_)
        assert each.predict_proba(X).tolist() == model.predict_proba(X).tolist()
        each.set_params(class_weight=None).partial_fit(X[:9], y[:9])
    assert saved.posterior_ == pickled.posterior_
    assert classifier.state_of(saved)[0] == classifier.state_of(pickled)[0]


def test_a_file_of_a_classifier_does_not_grow_with_its_rows(tmp_path: Path) -> None:
    for rows in (X, np.vstack([X] * 9 + [X + 1.0])):
        fabcost.save(fabcost.BayesianLogisticRegression().fit(rows, rows[:, 0] > 0), tmp_path / "f")
        assert (tmp_path / "f").stat().st_size < 5_000


def test_whatever_a_file_of_a_classifier_says_it_is_refused_or_works() -> None:
    model = fabcost.BayesianLogisticRegression(inference="ep", class_weight={1: 2.0}).fit(
        X[:9], (X[:9, 0] > 0).astype(int)
    )
    kind, refused = classifier.FORMAT, 0
    for what, settings, arrays in mutations(*classifier.state_of(model)):
        try:
            read = archive.unpack(kind, archive.pack(kind, settings, arrays))
            with archive.told_of(what, kind):
                found = classifier.restored(*read)
        except ValueError:
            refused += 1
            continue
        if hasattr(found, "posterior_"):
            assert np.isfinite(found.predict_proba(X)).all(), what
    assert refused > 200


def test_a_classifier_of_river_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    model = fabcost.RiverClassifier(half_life=50.0)
    for row, label in zip(X.tolist(), y == "yes", strict=True):
        model.learn_one({"a": row[0], "kind": "tea" if row[1] > 0 else "coffee"}, label)
    other = again(model, tmp_path)
    for each in (model, other):
        each.learn_one({"a": 1.0, "b": 2.0}, True)
    assert other.summary().names == model.summary().names
    assert other.learner.posterior == model.learner.posterior


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        (make_pipeline(fabcost.BayesianLogisticRegression()), "saved as scikit-learn's estimators"),
        (
            fabcost.BayesianLogisticRegression().set_params(prior_variance=1j),
            "prior_variance is 1j, which no",
        ),
        (hashed(fabcost.Schema.open(), 4), "is a HashedSchema but must be"),
        (3, "is a int but must be one of FabCost, Recommender, Gaussian, Schema, Bandit, Beta"),
    ],
)
def test_what_has_no_file_is_told_and_nothing_written(
    what: Any, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(TypeError, match=sentence):
        fabcost.save(what, tmp_path / "file")
    assert not list(tmp_path.iterdir())


def test_an_altered_schema_is_noticed(tmp_path: Path) -> None:
    fabcost.save(fabcost.Schema.open(), tmp_path / "file")
    content = (tmp_path / "file").read_bytes()
    (tmp_path / "file").write_bytes(content.replace(b"bias", b"dias"))
    with pytest.raises(ValueError, match="file is truncated or altered"):
        fabcost.load(tmp_path / "file")
