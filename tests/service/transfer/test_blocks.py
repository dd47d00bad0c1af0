"""Files of a log in parts, whatever the format."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabcost.service.transfer.blocks import blocks, check
from fabcost.service.transfer.formats import Format, read_impressions
from fabcost.service.transfer.lines import LogLine
from tests.service.transfer.logs import FORMATS, written


@pytest.mark.parametrize("form", FORMATS)
def test_an_empty_log_is_a_file_without_lines(form: Format) -> None:
    assert list(read_impressions(written([], form), form)) == []


def test_a_large_file_goes_in_blocks(tmp_path: Path) -> None:
    lines = [
        LogLine(decision_id=f"d-{i}", candidates={"a": {"text": "x" * 900}}, item="a", value=1.0)
        for i in range(3_000)
    ]
    for form in FORMATS:
        path = tmp_path / f"log.{form}"
        path.write_bytes(written([lines], form))
        parts = list(blocks(path, form))
        assert len(parts) > 1
        assert sum(part.size for part in parts) == path.stat().st_size
        read: list[int] = []
        assert check(path, form, read.append) == 3_000
        assert read == [part.size for part in parts]
        found = [each for part in parts for _, each in read_impressions(part.body, form)]
        assert [each.decision_id for each in found] == [line.decision_id for line in lines]


def test_an_error_in_a_later_block_has_the_number_of_its_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    good = b'{"item":"a","candidates":{"a":{"text":"%s"}}}\n' % (b"x" * 900)
    path.write_bytes(good * 2_999 + b"{}\n")
    with pytest.raises(ValueError, match="line 3000: Object missing required field"):
        check(path, "jsonl")
