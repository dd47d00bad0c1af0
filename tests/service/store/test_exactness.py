from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabcost.service.store.rows import ItemRow
from fabcost.service.store.store import Store
from tests.service.store.rows import decision_row, feedback_row, resolution

AWKWARD = [
    0.1 + 0.2,
    5e-324,
    2.2250738585072014e-308,
    2.225073858507201e-308,
    1.7976931348623157e308,
    -1.7976931348623157e308,
    9007199254740993.0,
    1.7e9 + 1e-6,
    math.pi * 1e-17,
    123456789012345678.0,
]
finite = st.floats(allow_nan=False, allow_infinity=False)
text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
quick = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


class UndoneError(Exception):
    pass


@contextmanager
def undone(store: Store) -> Iterator[None]:
    """A transaction that leaves nothing behind."""
    with suppress(UndoneError), store.transaction():
        yield
        raise UndoneError


def check_numbers(store: Store, numbers: list[float]) -> None:
    names = [f"d-{place}" for place in range(len(numbers))]
    keys = [("news", name) for name in names]
    with undone(store):
        pairs = list(zip(names, numbers, strict=True))
        store.insert_decisions([decision_row(name, deadline=number) for name, number in pairs])
        store.resolve([resolution(name, value=number) for name, number in pairs])
        store.insert_feedback([feedback_row(name, value=number) for name, number in pairs])
        found = store.find_decisions(keys)
        assert [found[key].deadline for key in keys] == numbers
        assert [found[key].value for key in keys] == numbers
        assert [row.value for row in store.find_feedback(keys)] == numbers


def test_awkward_numbers_keep_their_bits(store: Store) -> None:
    check_numbers(store, AWKWARD)


@quick
@given(st.lists(finite, min_size=1, max_size=20))
def test_numbers_keep_their_bits(store: Store, numbers: list[float]) -> None:
    check_numbers(store, numbers)


@quick
@given(st.lists(st.tuples(text, text), min_size=1, max_size=10, unique_by=lambda pair: pair[0]))
def test_text_keeps_its_characters(store: Store, pairs: list[tuple[str, str]]) -> None:
    keys = [("news", name) for name, _ in pairs]
    with undone(store):
        store.insert_decisions([decision_row(name, record=record) for name, record in pairs])
        store.put_items("news", 1, [ItemRow(*pair) for pair in pairs])
        found = store.find_decisions(keys)
        assert {name: row.record for (_, name), row in found.items()} == dict(pairs)
        assert store.items("news") == [ItemRow(*pair) for pair in pairs]


def test_escapes_inside_json_survive(store: Store) -> None:
    record = r'{"nul": "\u0000", "half": "\ud800", "slash": "\\u0000", "quote": "\""}'
    with store.transaction():
        store.insert_decisions([decision_row(record=record)])
        store.update_model("news", record, 12.0)
    assert store.find_decisions([("news", "d-1")])["news", "d-1"].record == record
    assert store.models()[0].settings == record


@pytest.mark.parametrize("text", ["nul \0", "half a pair \ud800"])
def test_text_that_cannot_be_kept_is_refused(store: Store, text: str) -> None:
    with pytest.raises(ValueError), store.transaction():  # noqa: PT011
        store.insert_decisions([decision_row("d-2"), decision_row(text)])
    with pytest.raises(ValueError), store.transaction():  # noqa: PT011
        store.update_model("news", text, 1.0)
    assert store.pending("news") == 0


def test_numbers_that_are_none_are_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="deadline"), store.transaction():
        store.insert_decisions([decision_row(deadline=math.nan)])


def test_rows_of_no_model_are_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="refused a row"), store.transaction():
        store.insert_decisions([decision_row("d-1"), decision_row("d-2", model="nothing")])
    assert store.pending("news") == 0
