"""What is written of a decision is what is read again, and short where candidates are many."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fabcost.service.models.candidates import encoded
from fabcost.service.store.rows import (
    MANY,
    Impression,
    Shares,
    impression,
    listing,
    told,
)

numbers = st.floats(allow_nan=False, allow_infinity=False, width=64)


@given(st.lists(numbers, max_size=20))
def test_a_row_is_read_as_it_was(row: list[float]) -> None:
    kept = impression(encoded(Impression.of(np.array(row))))
    assert all(kept.numbers)
    again = np.zeros(len(row))
    again[kept.columns] = kept.numbers
    np.testing.assert_array_equal(again, row)
    assert kept.width == max((k + 1 for k, number in enumerate(row) if number), default=0)


def test_rows_and_columns_are_written_as_two_lists() -> None:
    assert encoded(Impression.of(np.array([1.0, 0.0, 2.5]))) == "[[0,2],[1.0,2.5]]"


@given(st.lists(st.sampled_from([0.0, 0.01, 0.25, 1 / 3]), min_size=MANY, max_size=5 * MANY))
def test_shares_of_few_values_are_short_and_exact(given_shares: list[float]) -> None:
    shares = Shares.of(np.array(given_shares))
    assert shares is not None
    assert shares.numbers == sorted(set(given_shares))
    assert shares.all() == given_shares


def test_shares_that_are_few_or_all_different_are_written_one_by_one() -> None:
    assert Shares.of(np.full(MANY - 1, 0.5)) is None
    assert Shares.of(np.linspace(0.0, 1.0, 2 * MANY)) is None


@given(st.sets(st.integers(0, 4 * MANY - 1), min_size=MANY))
def test_many_items_are_listed_by_their_places(places: set[int]) -> None:
    items = [f"ad-{k}" for k in range(4 * MANY)]
    names = [items[k] for k in sorted(places)]
    listed = listing(names, dict.fromkeys(items))
    assert listed is not None
    assert told(listed, items) == names
    assert len(listed) < 100


def test_all_items_and_few_items() -> None:
    items = dict.fromkeys(f"ad-{k}" for k in range(MANY))
    assert listing(list(items), items) == "all"
    assert told("all", list(items)) == list(items)
    assert listing(["ad-1", "ad-2"], items) is None
