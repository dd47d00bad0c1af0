"""Summaries say what is believed, of learners, recommenders and estimators alike."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import norm
from sklearn import config_context

import fabcost
from fabcost.inference.summary import Summary

EVIL = '<script src="https://elsewhere.example/x.js">&'


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag != "br":
            self.open.append(tag)
        self.links += [str(value) for name, value in attrs if name in {"src", "href"}]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def learner(weights: int = 3) -> fabcost.FabCost:
    rng = np.random.default_rng(1)
    made = fabcost.FabCost(fabcost.Gaussian.isotropic(weights, variance=4.0))
    made.observe_many(rng.normal(size=(40, weights)), rng.random(40) < 0.4)
    return made


def recommender(belief: fabcost.Wide | None = None) -> fabcost.Recommender:
    rec = fabcost.Recommender(fabcost.Schema.open(), seed=7, belief=belief)
    items = {"ad-1": {"make": EVIL, "age": 3}, "ad-2": {"make": "kia", "age": 1}}
    for clicked in (True, False, True):
        rec.feedback(rec.recommend({"device": "tv"}, items).id, clicked=clicked)
    rec.recommend({}, items)
    return rec


def estimator(**settings: Any) -> fabcost.BayesianLogisticRegression:
    frame = pd.DataFrame({"age": [-1.0, 0.0, 1.0, 2.0], "price": [1.0, -1.0, 1.0, 0.0]})
    return fabcost.BayesianLogisticRegression(**settings).fit(frame, ["no", "yes", "yes", "yes"])


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_intervals_have_their_probability(level: float) -> None:
    made = learner()
    found = made.summary(["a", "b", "c"], level=level)
    law = norm(made.posterior.mean, np.sqrt(np.diag(made.posterior.covariance)))
    np.testing.assert_allclose(law.cdf(found.upper) - law.cdf(found.lower), level)
    np.testing.assert_allclose(found.upper + found.lower, 2.0 * made.posterior.mean)
    assert found.names == ("a", "b", "c")


def test_names_are_those_of_columns() -> None:
    rec = recommender()
    assert rec.summary().names == rec.schema.columns
    assert rec.summary().facts["items with effects of their own"] == "2 (prior sd 0.55)"
    assert rec.summary().facts["decisions that wait"] == 1
    assert estimator().summary().names == ("age", "price", "intercept")
    assert estimator(fit_intercept=False).summary().names == ("age", "price")
    bare = fabcost.BayesianLogisticRegression().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    assert bare.summary().names == ("x0", "x1", "intercept")
    assert learner().summary().names == ("x0", "x1", "x2")


def test_of_very_many_weights_only_those_that_were_seen() -> None:
    wide = fabcost.WideFabCost(2**10)
    wide.observe(([17, 400], [1.0, 1.0]), 1)
    found = wide.summary()
    assert found.names == ("x17", "x400")
    np.testing.assert_array_equal(found.mean, wide.posterior.mean[[17, 400]])
    rec = recommender(fabcost.Wide(bits=10))
    assert len(rec.summary()) == rec.learner.posterior.known.size


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames_are_made_of_it(make: Any) -> None:
    found = learner().summary()
    frame = make(found.to_dict())
    assert list(frame.columns) == ["name", "mean", "sd", "lower", "upper"]
    assert frame["lower"].to_numpy().tolist() == found.lower.tolist()


@pytest.mark.parametrize("made", [learner(), recommender(), fabcost.WideFabCost(8)])
def test_html_is_closed_escaped_and_asks_nobody(made: Any) -> None:
    shown = Tags(made._repr_html_())
    assert not shown.open
    assert not shown.links
    assert "script" not in shown.tags
    if isinstance(made, fabcost.Recommender):
        assert EVIL in shown.text


def test_an_estimator_shows_what_it_learnt_below_its_diagram() -> None:
    unfitted = fabcost.BayesianLogisticRegression()
    assert "<caption" not in unfitted._repr_mimebundle_()["text/html"]
    shown = estimator()._repr_mimebundle_()
    assert estimator().summary()._repr_html_() in shown["text/html"]
    assert shown["text/html"] != estimator().summary()._repr_html_()
    assert estimator().summary()._repr_html_() in estimator()._repr_html_()
    with config_context(display="text"):
        assert "text/html" not in estimator()._repr_mimebundle_()


def test_a_table_fits_a_terminal_and_says_what_it_leaves_out() -> None:
    mean = np.arange(30.0)
    names = tuple(f"{'long' * 20}{j}" for j in range(30))
    found = Summary("many", names, mean, np.ones(30), level=0.9)
    lines = str(found).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "… and 10 more, which are fewer sds from zero"
    assert len(lines) == 1 + 1 + 20 + 1
    assert "29" in lines[-2]
    assert found.strongest[:3].tolist() == [29, 28, 27]
    assert "90 % from" in lines[1]


def test_bad_input_is_told() -> None:
    with pytest.raises(ValueError, match="there are 2 names but 3 weights"):
        learner().summary(["a", "b"])
    with pytest.raises(ValueError, match="level is 95 but must lie between 0 and 1"):
        learner().summary(level=95)
