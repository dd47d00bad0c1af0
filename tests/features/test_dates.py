"""Dates are read as their parts, from records and tables alike."""

from __future__ import annotations

import datetime
import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabcost import Date, Numeric, Schema
from fabcost.features.dates import parts_of

UTC = datetime.UTC
EPOCH = datetime.datetime(1970, 1, 1)
zones = st.none() | st.integers(-1439, 1439).map(
    lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes))
)
MOMENTS = ["2024-03-01T08:15:00", "2024-03-02T20:00:00", None, "2024-03-04T08:15:00"]


@given(st.datetimes(datetime.datetime(2, 1, 1), datetime.datetime(9998, 1, 1)), zones)
def test_parts_are_those_of_the_calendar(moment: datetime.datetime, zone: Any) -> None:
    moment = moment.replace(tzinfo=zone)
    plain = moment if zone is None else moment.astimezone(UTC).replace(tzinfo=None)
    for given_as in (moment, moment.isoformat(), moment.isoformat(" ")):
        parts = parts_of(given_as)
        assert parts is not None
        assert parts.day == pytest.approx((plain - EPOCH) / datetime.timedelta(days=1), abs=1e-9)
        assert parts.hour == plain.hour
        assert parts.weekday == plain.strftime("%A").lower()
        sine, cosine = (parts.under("x")[f"x hour {name}"] for name in ("sine", "cosine"))
        turn = 2.0 * math.pi * plain.hour / 24.0
        assert (sine, cosine) == pytest.approx((math.sin(turn), math.cos(turn)), abs=1e-15)


@given(st.dates())
def test_a_date_has_no_hour(day: datetime.date) -> None:
    for given_as in (day, day.isoformat(), np.datetime64(day)):
        parts = parts_of(given_as)
        assert parts is not None
        assert parts.day == day.toordinal() - EPOCH.toordinal()
        assert parts.hour is None


@pytest.mark.parametrize(
    "value",
    ["2024-02-30", "2024-13-01", "2024-01-01T25:00", "20240101", "2024-01", "1704067200", "soon",
     1704067200, 3.5, None, True, datetime.time(3, 4), np.datetime64("NaT", "s"), pd.NaT],
)  # fmt: skip
def test_what_is_no_date_has_no_parts(value: Any) -> None:
    assert parts_of(value) is None


def test_an_open_schema_reads_the_parts() -> None:
    schema = Schema.open(crosses=False)
    rows = schema.design([{"seen": moment} for moment in MOMENTS])
    assert schema.columns == (
        "bias", "seen day", "seen hour sine", "seen hour cosine",
        "seen weekday=friday", "seen weekday=saturday", "seen weekday=monday",
    )  # fmt: skip
    assert not rows[2, 1:].any()
    np.testing.assert_allclose(rows[0, 2:], [math.sqrt(3) / 2, -0.5, 1, 0, 0], atol=1e-12)
    assert rows[1, 1] == 0.0  # the median day
    assert "seen day" in schema.to_dict()["seen"]
    again = Schema.from_dict(schema.to_dict())
    records = [{"seen": moment} for moment in MOMENTS]
    np.testing.assert_array_equal(again.design(records), rows)


def test_days_without_a_time_have_no_hours() -> None:
    schema = Schema.open()
    schema.encode_items({1: {"built": datetime.date(2020, 1, 31)}})
    assert schema.columns == ("bias", "built day", "built weekday=friday")
    assert list(schema.features) == ["built", "built day", "built weekday"]


@pytest.mark.parametrize("scaled", [True, False])
def test_tables_of_dates_are_read_as_their_records(scaled: bool) -> None:
    if not scaled:  # a schema of before takes strings as strings, and nothing else
        schema = Schema.open(scaled=False)
        schema.design([{"seen": MOMENTS[0]}])
        assert schema.columns == ("bias", "seen=2024-03-01T08:15:00")
        return
    records = [{"price": k, "seen": moment} for k, moment in enumerate(MOMENTS)]
    by_records = Schema.open()
    expected = by_records.design(records)
    stamps = pd.to_datetime(pd.Series(MOMENTS))
    prices = list(range(4))
    for table in (
        {"price": prices, "seen": MOMENTS},
        {"price": prices, "seen": stamps.to_numpy()},
        pd.DataFrame({"price": prices, "seen": stamps}),
        pd.DataFrame({"price": prices, "seen": stamps.dt.tz_localize("UTC")}),
        pa.table({"price": prices, "seen": pa.array(stamps)}),
    ):
        schema = Schema.open()
        rows = schema.design(table)
        assert rows.tobytes() == expected.tobytes()
        assert schema.to_dict() == by_records.to_dict()


def test_what_is_no_date_is_refused_where_dates_are_expected() -> None:
    schema = Schema.open()
    schema.design([{"seen": "2024-03-01"}])
    before = schema.to_dict()
    message = "item feature 'seen' is 'soon' but must be a date such as"
    with pytest.raises(ValueError, match=message):
        schema.design([{"seen": "soon"}])
    with pytest.raises(ValueError, match=f"row 2: {message}"):
        schema.design({"seen": ["2024-03-02", "soon"]})
    assert schema.to_dict() == before


def test_a_declared_number_says_that_it_got_a_date() -> None:
    for value in ("2024-03-01", datetime.date(2024, 3, 1), np.datetime64("2024-03-01")):
        with pytest.raises(ValueError, match="'age' is the date 2024-03-01 but must be a number"):
            Schema([Numeric("age")]).design([{"age": value}])


def test_parts_of_a_declared_date_are_declared_features() -> None:
    schema = Schema([Date("seen", missing="weight"), Numeric("seen day", missing="zero")])
    assert schema.columns == ("bias", "seen missing", "seen day")
    rows = schema.design([{"seen": "1970-01-03"}, {"seen": None}])
    np.testing.assert_array_equal(rows, [[1, 0, 2], [1, 1, 0]])
    assert Schema.from_dict(schema.to_dict()).to_dict() == schema.to_dict()


@pytest.mark.parametrize(
    "record",
    [{"seen day": 3, "seen": "2024-03-01"}, {"seen": "2024-03-01", "seen day": 3}],
    ids=["before", "after"],
)
def test_a_part_cannot_also_be_a_key(record: dict[str, Any]) -> None:
    schema = Schema.open()
    with pytest.raises(ValueError, match="'seen day'"):
        schema.design([record])
    assert schema.columns == ("bias",)
