"""JSON Lines: what is written is read again, and what is wrong is named."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from fabcost.wire.formats import read_impressions
from fabcost.wire.line import LogLine, read_lines
from tests.wire.logs import PAGES, written


@settings(deadline=None, max_examples=40)
@given(pages=PAGES)
def test_json_lines_leave_nothing_out(pages: list[list[LogLine]]) -> None:
    lines = [line for page in pages for line in page]
    assert [line for _, line in read_lines(written(pages, "jsonl"))] == lines


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"item":"a","candidates":{"a":{}}}\n{', "line 2: Input data was truncated"),
        (b'\n\n{"item":"b","candidates":{"a":{}}}', "line 3: the item is 'b' but"),
        (
            b'{"item":"a","candidates":{"a":{"x":[1]}}}',
            "line 1: 'x' in 'a' in 'candidates' must be ",
        ),
        (
            b'{"item":"a","candidates":{"a":{}},"propensities":[]}',
            "line 1: there are 0 propensities but 1 candidates",
        ),
        (b'{"item":"\xff"}', "line 1: "),
        (b'{"item":"a\\u0000","candidates":{"a\\u0000":{}}}', "line 1: the id"),
    ],
)
def test_an_error_names_the_line(body: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        list(read_impressions(body, "jsonl"))


def test_lines_without_an_id_get_the_same_one_again() -> None:
    body = b'{"item":"a","candidates":{"a":{}}}\n' * 3
    ids = [[each.decision_id for _, each in read_impressions(body, "jsonl")] for _ in range(2)]
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 3
