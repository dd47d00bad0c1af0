"""Parquet: what is written is read again, in row groups, and what is wrong is named."""

from __future__ import annotations

import io
import math
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from fabcost.wire import parquet
from fabcost.wire.formats import read_impressions
from fabcost.wire.line import LogLine
from fabcost.wire.messages import Record
from fabcost.wire.parquet import ParquetPieces
from tests.wire.logs import PAGES, written


@settings(deadline=None, max_examples=40)
@given(pages=PAGES)
def test_parquet_leaves_nothing_out(pages: list[list[LogLine]]) -> None:
    lines = [line for page in pages for line in page]
    found = list(parquet.read(written(pages, "parquet")))
    assert [number for number, _ in found] == list(range(1, len(lines) + 1))
    # A log from elsewhere may have rewards only, so they are read where there is no value.
    for (_, line), wanted in zip(found, lines, strict=True):
        if wanted.value is None and wanted.label is not None:
            assert line.value == (wanted.label > 0)
        else:
            assert line == wanted


def test_parquet_is_written_while_it_grows() -> None:
    line = LogLine(decision_id="d", candidates={"a": {}}, item="a")
    pieces = ParquetPieces()
    pieces.page([line])
    written = [pieces.page([line] * (parquet.GROUP // 2)) for _ in range(5)]
    assert [len(piece) > 0 for piece in written] == [False, True, False, True, False]
    file = pq.ParquetFile(io.BytesIO(b"PAR1" + b"".join(written) + pieces.end()))
    assert file.num_row_groups == 3
    assert file.metadata.num_rows == 1 + 5 * parquet.GROUP // 2


def test_large_lines_are_written_sooner() -> None:
    candidates: dict[str, Record] = {f"{k:0250d}": {} for k in range(1_000)}
    line = LogLine(decision_id="d", candidates=candidates, item=f"{0:0250d}")
    pieces = ParquetPieces()
    written = [pieces.page([line] * 10) for _ in range(10)]
    assert sum(len(piece) > 4 for piece in written) == 1
    content = b"".join(written) + pieces.end()
    assert pq.ParquetFile(io.BytesIO(content)).metadata.num_rows == 100


@pytest.mark.parametrize("body", [b"PAR1", b""])
def test_what_is_not_parquet_is_said_to_be(body: bytes) -> None:
    with pytest.raises(ValueError, match="the file is not Parquet"):
        list(read_impressions(body, "parquet"))


def test_an_error_names_the_row_or_the_column() -> None:
    def body(**columns: list[Any]) -> bytes:
        sink = io.BytesIO()
        pq.write_table(pa.table(columns), sink)
        return sink.getvalue()

    with pytest.raises(ValueError, match="there is no column 'candidates'; the file has action"):
        list(read_impressions(body(action=["a"]), "parquet"))
    wrong = body(action=["a", "a"], candidates=['{"a": {}}', "x"])
    with pytest.raises(ValueError, match="line 2: JSON is malformed"):
        list(read_impressions(wrong, "parquet"))
    infinite = body(action=["a"], candidates=['{"a": {}}'], value=[math.inf])
    with pytest.raises(ValueError, match=r"line 1: 'value' must be a number <= 1000000000.0"):
        list(read_impressions(infinite, "parquet"))
    for column, number in (("value", math.nan), ("time", math.nan), ("propensities", [math.nan])):
        unknown = body(action=["a"], candidates=['{"a": {}}'], **{column: [number]})
        with pytest.raises(ValueError, match=r"line 1: .*'.* must be a number"):
            list(read_impressions(unknown, "parquet"))
