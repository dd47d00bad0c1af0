"""A schema's document comes over the network: it is one, or it is refused in words."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fabcost import Schema
from tests.examples import examples

NAMES = st.sampled_from(["a", "b", "kind", ""])
SCALARS = st.none() | st.booleans() | st.integers(-2, 5) | st.floats() | NAMES
ANYTHING = st.recursive(
    SCALARS, lambda some: st.lists(some, max_size=3) | st.dictionaries(NAMES, some, max_size=3)
)
KINDS = st.sampled_from(["numeric", "boolean", "categorical", "text"])
OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "kind": KINDS | ANYTHING,
    "role": st.sampled_from(["context", "item"]) | ANYTHING,
    "missing": st.sampled_from(["error", "weight", "zero"]) | ANYTHING,
    "levels": st.lists(NAMES, max_size=3) | ANYTHING,
    "limit": ANYTHING,
    "mean": ANYTHING,
    "columns": ANYTHING,
}
FEATURES = st.fixed_dictionaries({"kind": KINDS}) | st.fixed_dictionaries({}, optional=OPTIONS)
STEPS = st.builds(lambda name, feature: {"name": name, **feature}, NAMES, FEATURES)
LABELS = st.lists(NAMES, min_size=1, max_size=3)
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "features": st.dictionaries(NAMES, FEATURES, max_size=3) | ANYTHING,
        "crosses": st.lists(LABELS | ANYTHING, max_size=3) | ANYTHING,
        "bias": ANYTHING,
        "open": st.fixed_dictionaries({}, optional={"limit": ANYTHING, "crosses": ANYTHING})
        | ANYTHING,
        "grown": st.lists(STEPS | LABELS | ANYTHING, max_size=4) | ANYTHING,
    },
)


@settings(max_examples=examples(500), deadline=None)
@given(DOCUMENTS | ANYTHING)
def test_any_document_is_a_schema_or_refused(document: Any) -> None:
    try:
        schema = Schema.from_dict(document)
    except ValueError:
        return
    assert Schema.from_dict(schema.to_dict()).columns == schema.columns
