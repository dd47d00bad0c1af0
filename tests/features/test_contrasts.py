"""Contrasts beside rows of a balanced design, which the schema makes itself."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from fabcost import Boolean, Categorical, Numeric, Schema
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.service.models.explanation import Wanted

DEVICES, SEASONS = ("tv", "phone", "watch"), ("warm", "cold")
MAKES, FUELS = ("ford", "kia", "audi"), ("gas", "oil")
SCHEMA = Schema(
    [
        Categorical("device", role="context", levels=DEVICES),
        Categorical("season", role="context", levels=SEASONS),
        Categorical("make", levels=MAKES),
        Categorical("fuel", levels=FUELS),
        Numeric("age", mean=3.0, scale=2.0),
    ],
    crosses=[("device", "make"), ("season", "make"), ("device", "age"), ("make", "fuel")],
)


def design(**fixed: str | float) -> FloatArray:
    """The mean row of all combinations of levels, with age at its mean, but for what is fixed."""
    names = ("device", "season", "make", "fuel")
    rows = []
    for values in product(DEVICES, SEASONS, MAKES, FUELS):
        given = dict(zip(names, values, strict=True))
        if any(given.get(name, value) != value for name, value in fixed.items()):
            continue
        item = {"make": given["make"], "fuel": given["fuel"], "age": fixed.get("age", 3.0)}
        context = {"device": given["device"], "season": given["season"]}
        rows.append(SCHEMA.rows(context, SCHEMA.encode_items({1: item}))[0])
    return np.asarray(np.mean(rows, axis=0))


@pytest.mark.parametrize("role", ["context", "item"])
def test_a_level_is_beside_the_mean_of_a_balanced_design(role: str) -> None:
    found = [each for each in SCHEMA.contrasts().by_role(role) if each.level]
    assert len(found) == 5
    for each in found:
        assert each.row == pytest.approx(design(**{each.feature: each.level}) - design(), abs=1e-12)


def test_a_number_is_one_scale_larger() -> None:
    (age,) = [each for each in SCHEMA.contrasts().by_role("item") if each.feature == "age"]
    assert age.step == 2.0
    assert age.row == pytest.approx(design(age=5.0) - design(), abs=1e-12)


def test_pairs_are_contrasts_within_a_level_of_the_context() -> None:
    pairs = list(SCHEMA.contrasts().pairs())
    assert len(pairs) == 9 + 6 + 3
    for pair in pairs:
        fixed, contrast = {pair.context: pair.within}, pair.contrast
        other = {"age": 5.0} if contrast.feature == "age" else {contrast.feature: contrast.level}
        assert contrast.row == pytest.approx(design(**fixed, **other) - design(**fixed), abs=1e-12)
        usual = design(**other) - design()
        assert pair.apart == pytest.approx(contrast.row - usual, abs=1e-12)


def test_numbers_that_scale_themselves_and_what_is_alone() -> None:
    schema = Schema.open()
    items = {n: {"make": "kia", "age": n, "new": n > 3, "_name": f"car {n}"} for n in range(9)}
    schema.rows({"device": "tv"}, schema.encode_items(items))
    assert "_name" not in schema.features
    found = {each.feature: each for each in schema.contrasts().by_role("item")}
    assert found.keys() == {"age", "new"}  # one level alone has no others beside it
    assert found["age"].step == pytest.approx(np.std(range(9), ddof=1), rel=0.15)
    assert isinstance(schema.features["new"], Boolean)


def test_a_belief_tells_them_by_all_its_covariances() -> None:
    rng = np.random.default_rng(3)
    root = rng.normal(size=(SCHEMA.width, SCHEMA.width))
    belief = Gaussian(rng.normal(size=SCHEMA.width), root @ root.T)
    told = Wanted.of(SCHEMA).told(belief)
    rows = {(c.feature, c.level): c.row for c in SCHEMA.contrasts().by_role("item")}
    assert len(told["items"]) == len(rows)
    clarity = [abs(each.mean) / each.sd for each in told["items"]]
    assert clarity == sorted(clarity, reverse=True)
    for each in told["items"]:
        row = rows[each.feature, each.level]
        assert each.mean == pytest.approx(row @ belief.mean)
        assert each.sd**2 == pytest.approx(row @ belief.covariance @ row)


def test_what_is_too_wide_is_said_to_be() -> None:
    schema = Schema([Categorical("id", levels=tuple(map(str, range(2_000))))])
    told = Wanted.of(schema).told(Gaussian.isotropic(1))
    assert told["items"] == []
    assert "More than 2,000 weights" in told["note"]
