"""Changing a catalogue bit by bit gives what reading it at once gives."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fabcost import Schema
from fabcost.service.models.catalogue import Catalogue
from tests.examples import examples

ids = st.sampled_from([f"ad-{k}" for k in range(6)])
features = st.fixed_dictionaries(
    {}, optional={"make": st.sampled_from(["kia", "ford", "audi"]), "age": st.integers(0, 9)}
)
changes = st.lists(
    st.one_of(
        st.dictionaries(ids, features, min_size=1, max_size=3),
        st.lists(ids, min_size=1, max_size=3),
        st.none(),
    ),
    max_size=12,
)


@settings(max_examples=examples(60), deadline=None)
@given(changes)
def test_changes_in_any_order(steps: list[Any]) -> None:
    schema = Schema.open()
    catalogue = Catalogue(schema, 0, {})
    for version, step in enumerate(steps, start=1):
        if isinstance(step, dict):
            catalogue.put(version, step)
        elif step is not None:
            catalogue.remove(version, step)
        elif catalogue.items:
            catalogue.all()
    if not catalogue.items:
        return
    found = catalogue.all()
    assert found.names == tuple(catalogue.items)
    expected = schema.encode_items(catalogue.items)
    np.testing.assert_array_equal(schema.rows({}, found), schema.rows({}, expected))
