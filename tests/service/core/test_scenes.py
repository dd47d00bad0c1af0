"""What is remembered is what would be read again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabcost import Schema
from fabcost.service.models.candidates import Scenes
from fabcost.service.models.catalogue import Catalogue
from fabcost.service.store.rows import impression
from fabcost.wire.errors import InvalidRequestError
from fabcost.wire.messages import DecisionRequest

contexts = st.fixed_dictionaries(
    {}, optional={"device": st.sampled_from(["tv", "pc"]), "hour": st.integers(0, 3)}
)
steps = st.lists(
    st.one_of(contexts, st.dictionaries(st.sampled_from("abc"), st.just({"age": 2}), min_size=1)),
    max_size=15,
)


@settings(max_examples=50, deadline=None)
@given(steps)
def test_scenes_are_those_of_a_schema_that_remembers_nothing(taken: list[Any]) -> None:
    schema = Schema.open()
    catalogue = Catalogue(schema, 0, {"x": {"age": 1}, "y": {"make": "kia"}})
    found = Scenes(schema, catalogue)
    for version, step in enumerate(taken, start=1):
        if any(isinstance(value, dict) for value in step.values()):
            catalogue.put(version, step)
            continue
        scene, _ = found.of(DecisionRequest(context=step))
        expected = schema.rows(step, schema.encode_items(catalogue.items))
        np.testing.assert_array_equal(_padded(scene.rows.dense(), expected.shape[1]), expected)
        for place in range(len(scene.names)):
            row = impression(scene.at(place).row)
            np.testing.assert_array_equal(np.flatnonzero(expected[place]), row.columns)


def test_values_of_other_types_are_other_contexts() -> None:
    declared = {"new": {"kind": "boolean", "role": "context"}, "age": {"kind": "numeric"}}
    schema = Schema.from_dict({"features": declared})
    found = Scenes(schema, Catalogue(schema, 0, {"x": {"age": 1}}))
    assert found.of(DecisionRequest(context={"new": True}))
    with pytest.raises(InvalidRequestError, match="must be True or False"):
        found.of(DecisionRequest(context={"new": 1}))


def _padded(rows: Any, width: int) -> Any:
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])))
