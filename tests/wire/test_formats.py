"""Files of a log in parts, whatever the format."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabcost.service.settings import Settings
from fabcost.service.transfer import limits_of
from fabcost.wire.formats import check, parts_of, read_impressions
from fabcost.wire.line import LogLine, Names
from fabcost.wire.messages import LogFormat, Record
from tests.wire.logs import FORMATS, written


@pytest.mark.parametrize("form", FORMATS)
def test_an_empty_log_is_a_file_without_lines(form: LogFormat) -> None:
    assert list(read_impressions(written([], form), form)) == []


def test_a_large_file_goes_in_blocks(tmp_path: Path) -> None:
    lines = [
        LogLine(decision_id=f"d-{i}", candidates={"a": {"text": "x" * 900}}, item="a", value=1.0)
        for i in range(3_000)
    ]
    for form in FORMATS:
        path = tmp_path / f"log.{form}"
        path.write_bytes(written([lines], form))
        parts = list(parts_of(path, form))
        assert len(parts) > 1
        assert sum(part.size for part in parts) == path.stat().st_size
        read: list[int] = []
        assert check(path, form, read.append).many == 3_000
        assert read == [part.size for part in parts]
        found = [each for part in parts for _, each in read_impressions(part.body, form)]
        assert [each.decision_id for each in found] == [line.decision_id for line in lines]


def test_blocks_of_large_rows_have_fewer_of_them(tmp_path: Path) -> None:
    candidates: dict[str, Record] = {f"{k:0250d}": {} for k in range(1_000)}
    line = LogLine(decision_id="d", candidates=candidates, item=f"{0:0250d}")
    path = tmp_path / "log.parquet"
    path.write_bytes(written([[line] * 100], "parquet"))
    parts = list(parts_of(path, "parquet"))
    assert len(parts) == 2
    assert sum(part.size for part in parts) == path.stat().st_size
    limits = limits_of(Settings())._replace(decoded_bytes=20_000_000)
    for part in parts:
        list(read_impressions(part.body, "parquet", limits=limits))


def test_an_error_in_a_later_block_has_the_number_of_its_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    good = b'{"item":"a","candidates":{"a":{"text":"%s"}}}\n' % (b"x" * 900)
    path.write_bytes(good * 2_999 + b"{}\n")
    with pytest.raises(ValueError, match="line 3000: 'candidates' is missing"):
        check(path, "jsonl")


@pytest.mark.parametrize("form", FORMATS)
def test_lines_without_ids_have_the_same_names_in_parts_and_after_the_file_has_grown(
    form: LogFormat, tmp_path: Path
) -> None:
    line = LogLine(candidates={"a": {"text": "x" * 900}}, item="a", value=1.0)
    names = {many: _names(tmp_path / f"{many}.{form}", form, [line] * many) for many in (5, 3_000)}
    assert len(set(names[3_000])) == 3_000
    assert names[3_000][:5] == names[5]
    whole = read_impressions((tmp_path / f"3000.{form}").read_bytes(), form)
    assert [each.decision_id for _, each in whole] == names[3_000]
    other = LogLine(candidates={"a": {"text": "y"}}, item="a", value=1.0)
    later = _names(tmp_path / f"later.{form}", form, [other, *[line] * 5])
    assert not set(later) & set(names[3_000])


def _names(path: Path, form: LogFormat, lines: list[LogLine]) -> list[str | None]:
    path.write_bytes(written([lines], form))
    found = []
    for block, after in zip(parts_of(path, form), check(path, form).after, strict=True):
        read = read_impressions(block.body, form, names=Names(after))
        found += [each.decision_id for _, each in read]
    return found
