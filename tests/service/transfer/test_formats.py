"""Formats of a log: what is written is read again, and foreign lines are understood."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabcost.service.transfer import dsjson_reader, jsonl, parquet
from fabcost.service.transfer.blocks import blocks, check
from fabcost.service.transfer.dsjson import DsJson
from fabcost.service.transfer.formats import WRITERS, Format, read_impressions
from fabcost.service.transfer.lines import LogLine, impression_of
from fabcost.service.transfer.parquet import ParquetPieces

FORMATS: tuple[Format, ...] = ("jsonl", "parquet", "dsjson")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
IDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=10)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.booleans() | st.integers(-(2**53), 2**53) | NUMBERS | TEXTS
RECORDS = st.dictionaries(IDS, SCALARS | st.none(), max_size=4)


@st.composite
def log_lines(draw: st.DrawFn) -> LogLine:
    candidates = draw(st.dictionaries(IDS, RECORDS, min_size=1, max_size=4))
    shares = st.lists(st.floats(0.0, 1.0), min_size=len(candidates), max_size=len(candidates))
    value = draw(st.none() | NUMBERS)
    return LogLine(
        decision_id=draw(IDS),
        time=draw(st.floats(0.0, 4e9)),
        context=draw(RECORDS),
        candidates=candidates,
        item=draw(st.sampled_from(list(candidates))),
        propensities=draw(st.none() | shares),
        value=value,
        missing=tuple(draw(st.lists(st.sampled_from(list(candidates)), unique=True))),
        changed=draw(st.booleans()),
        arm="bandit",
        deadline=draw(NUMBERS),
        ranking=tuple(candidates),
        scores=tuple(draw(NUMBERS) for _ in candidates),
        posterior_version=draw(TEXTS),
        mode="online",
        deferred=draw(st.booleans()),
        resolved=draw(st.none() | NUMBERS),
        outcome=draw(st.sampled_from([None, "feedback", "expired", "discarded"])),
        label=draw(st.sampled_from([None, 1, -1])),
        lsn=draw(st.none() | st.integers(1, 2**53)),
    )


PAGES = st.lists(st.lists(log_lines(), min_size=1, max_size=3), max_size=3)


def written(pages: list[list[LogLine]], form: Format) -> bytes:
    writer = WRITERS[form]()
    return b"".join([*map(writer.page, pages), writer.end()])


def known(record: dict[str, Any]) -> dict[str, Any]:
    """What Vowpal Wabbit's format can say of a record."""
    return {n: v for n, v in record.items() if v is not None and not n.startswith("_")}


@settings(deadline=None, max_examples=40)
@given(pages=PAGES)
def test_json_lines_leave_nothing_out(pages: list[list[LogLine]]) -> None:
    lines = [line for page in pages for line in page]
    assert [line for _, line in jsonl.read(written(pages, "jsonl"))] == lines


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


@settings(deadline=None, max_examples=40)
@given(pages=PAGES)
def test_dsjson_keeps_what_is_learnt(pages: list[list[LogLine]]) -> None:
    lines = [line for page in pages for line in page]
    found = [line for _, line in dsjson_reader.read(written(pages, "dsjson"))]
    for line, wanted in zip(map(impression_of, found), map(impression_of, lines), strict=True):
        plain = msgspec.structs.replace(
            wanted,
            context=known(wanted.context),
            candidates={item: known(record) for item, record in wanted.candidates.items()},
        )
        assert line == plain


@pytest.mark.parametrize("form", FORMATS)
def test_an_empty_log_is_a_file_without_lines(form: Format) -> None:
    assert list(read_impressions(written([], form), form)) == []


def test_parquet_is_written_while_it_grows() -> None:
    line = LogLine(decision_id="d", candidates={"a": {}}, item="a")
    pieces = ParquetPieces()
    pieces.page([line])
    written = [pieces.page([line] * (parquet.GROUP // 2)) for _ in range(5)]
    assert [len(piece) > 0 for piece in written] == [False, True, False, True, False]
    file = pq.ParquetFile(io.BytesIO(b"PAR1" + b"".join(written) + pieces.end()))
    assert file.num_row_groups == 3
    assert file.metadata.num_rows == 1 + 5 * parquet.GROUP // 2


@pytest.mark.parametrize(
    ("form", "body", "why"),
    [
        ("jsonl", b'{"item":"a","candidates":{"a":{}}}\n{', "line 2: Input data was truncated"),
        ("jsonl", b'\n\n{"item":"b","candidates":{"a":{}}}', "line 3: the item is 'b' but"),
        ("jsonl", b'{"item":"a","candidates":{"a":{"x":[1]}}}', "line 1: Expected `str | "),
        (
            "jsonl",
            b'{"item":"a","candidates":{"a":{}},"propensities":[]}',
            "line 1: there are 0 propensities but 1 candidates",
        ),
        ("jsonl", b'{"item":"\xff"}', "line 1: "),
        ("jsonl", b'{"item":"a\\u0000","candidates":{"a\\u0000":{}}}', "line 1: the id"),
        ("dsjson", b'{"c":{}}', "line 1: c._multi must be a list"),
        ("dsjson", b'{"c":{"_multi":[{}]}}', "line 1: neither _label_Action nor"),
        ("dsjson", b'{"c":{"_multi":[{}]},"_label_Action":2}', "line 1: action 2 was chosen"),
        ("dsjson", b'{"c":{"_multi":[{}]},"_label_Action":0}', "line 1: action 0 was chosen"),
        ("dsjson", b'{"c":{"_multi":[{}],"_slots":[{}]}}', "line 1: it decides on several"),
        ("dsjson", b'{"c":{"_multi":[3]},"_label_Action":1}', "line 1: action 1 of c._multi"),
        (
            "dsjson",
            b'\n{"c":{"_multi":[{"_tag":"a"},{"_tag":"a"}]},"_label_Action":1}',
            "line 2: two actions are 'a'",
        ),
        (
            "dsjson",
            b'{"c":{"_multi":[{}]},"_label_Action":1,"a":[1,2],"p":[1.0]}',
            "line 1: a is .1, 2. and p has 1 entries for 1 actions",
        ),
        (
            "dsjson",
            b'{"c":{"u":["x"],"_multi":[{}]},"_label_Action":1}',
            "line 1: Features should not contain array with non-number items",
        ),
        (
            "dsjson",
            b'{"c":{"_multi":[{}]},"_label_Action":1,"Timestamp":"soon"}',
            "line 1: Invalid isoformat string",
        ),
        ("parquet", b"PAR1", "the file is not Parquet"),
        ("parquet", b"", "the file is not Parquet"),
    ],
)
def test_an_error_names_the_line(form: Format, body: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        list(read_impressions(body, form))


def test_an_error_in_parquet_names_the_row_or_the_column() -> None:
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
    with pytest.raises(ValueError, match="line 1: value is inf but must be finite"):
        list(read_impressions(infinite, "parquet"))


def test_lines_without_an_id_get_the_same_one_again() -> None:
    body = b'{"item":"a","candidates":{"a":{}}}\n' * 3
    ids = [[each.decision_id for _, each in read_impressions(body, "jsonl")] for _ in range(2)]
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 3


# The shape of a line of Azure Personalizer's log mirror, with seven digits of a second.
AZURE: dict[str, Any] = {
    "_label_cost": -0.5,
    "_label_probability": 0.05,
    "_label_Action": 3,
    "_labelIndex": 2,
    "o": [{"v": 0.5, "EventId": "e-1", "ActionTaken": False}],
    "Timestamp": "2021-02-04T16:31:29.2460000Z",
    "Version": "1",
    "EventId": "e-1",
    "a": [3, 1, 2],
    "c": {
        "FromUrl": [{"time": "noon", "user": {"tier": 2}}, {"rain": False, "wind": [1, 2.5]}],
        "Site": {"name": "home"},
        "_synthetic": False,
        "_multi": [
            {"_tag": "tea", "i": {"constant": 1, "id": "tea"}, "j": [{"hot": True}]},
            {"i": {"constant": 1, "id": "cold brew"}, "j": [{"hot": False}, {"strong": 1}]},
            {"_tag": "milk", "i": {"constant": 1, "id": "milk"}},
        ],
    },
    "p": [0.05, 0.9, 0.05],
    "VWState": {"m": "x/y"},
    "_original_label_cost": -0.5,
}


def foreign(**changes: Any) -> LogLine:
    given = {name: value for name, value in (AZURE | changes).items() if value is not ...}
    ((_, line),) = dsjson_reader.read(json.dumps(given).encode())
    return line


def test_a_line_of_azure_is_understood() -> None:
    line = foreign()
    assert line.decision_id == "e-1"
    assert line.time == 1612456289.246
    assert line.context == {
        "context:time": "noon",
        "context:user.tier": 2,
        "context:rain": False,
        "context:wind.0": 1,
        "context:wind.1": 2.5,
        "context:Site.name": "home",
    }
    assert line.candidates == {
        "tea": {"action:hot": True},
        "cold brew": {"action:hot": False, "action:strong": 1},
        "milk": {},
    }
    assert (line.item, line.value) == ("milk", 0.5)
    assert line.propensities == [0.9, 0.05, 0.05]


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ({"_skipLearn": True}, None),
        ({"DeferredAction": True}, None),
        ({"DeferredAction": True, "o": [{"ActionTaken": True}]}, 0.5),
        ({"_label_cost": ...}, 0.5),
        ({"_label_cost": ..., "o": []}, None),
        ({"_label_cost": ..., "o": [{"v": {"x": 1}}, {"v": 2}, {"v": 3}]}, 2.0),
        ({"_label_cost": 1}, -1.0),
    ],
)
def test_the_outcome_of_a_foreign_line(changes: dict[str, Any], value: float | None) -> None:
    assert foreign(**changes).value == value


def test_what_was_chosen_is_found_in_three_ways() -> None:
    assert foreign(_label_Action=...).item == "milk"
    assert foreign(_label_Action=..., _labelIndex=...).item == "milk"


def test_actions_without_a_name_are_numbered() -> None:
    assert list(foreign(c={"_multi": [{}, {"A": {"x": 1}}, {}]}).candidates) == ["1", "2", "3"]


def test_lines_that_are_no_decisions_are_passed_over() -> None:
    reward = b'{"RewardValue":1.0,"EnqueuedTimeUtc":"2021-02-04T16:31:29Z","EventId":"e-0"}'
    body = b"\xef\xbb\xbf" + reward + b"\r\n\r\n" + json.dumps(AZURE).encode() + b"\r\n"
    assert [number for number, _ in dsjson_reader.read(body)] == [3]


def test_dsjson_says_what_vowpal_wabbit_needs() -> None:
    line = LogLine(
        decision_id="d-1",
        time=1_600_000_000.5,
        context={"device": "tv", "_secret": 1, "hour": None},
        candidates={"a": {"x": 1}, "b": {"x": 2}, "c": {}},
        item="b",
        propensities=[0.1, 0.7, 0.2],
        value=0.5,
        outcome="feedback",
        active=False,
        deferred=True,
    )
    found = json.loads(DsJson().page([line]))
    assert (found["_label_cost"], found["_label_probability"]) == (-0.5, 0.7)
    assert (found["_label_Action"], found["_labelIndex"]) == (2, 1)
    assert (found["a"], found["p"]) == ([2, 1, 3], [0.7, 0.1, 0.2])
    assert found["c"]["context"] == {"device": "tv"}
    assert [each["_tag"] for each in found["c"]["_multi"]] == ["a", "b", "c"]
    assert found["o"] == [{"v": 0.5, "EventId": "d-1", "ActionTaken": False}]
    assert found["Timestamp"] == "2020-09-13T12:26:40.500Z"
    assert found["_skipLearn"] is True


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
        assert check(path, form) == 3_000
        found = [each for part in parts for _, each in read_impressions(part.body, form)]
        assert [each.decision_id for each in found] == [line.decision_id for line in lines]


def test_an_error_in_a_later_block_has_the_number_of_its_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    good = b'{"item":"a","candidates":{"a":{"text":"%s"}}}\n' % (b"x" * 900)
    path.write_bytes(good * 2_999 + b"{}\n")
    with pytest.raises(ValueError, match="line 3000: Object missing required field"):
        check(path, "jsonl")


def test_vowpal_wabbit_learns_from_every_line() -> None:
    vowpalwabbit = pytest.importorskip("vowpalwabbit", reason="the extra bench is not installed")
    rng = np.random.default_rng(3)
    lines = []
    for i in range(300):
        item = "ab"[rng.integers(2)]
        device = ("tv", "phone")[rng.integers(2)]
        liked = (item == "a") == (device == "tv")
        line = LogLine(
            decision_id=f"d-{i}",
            time=float(i),
            context={"device": device, "hour": int(rng.integers(24))},
            candidates={"a": {"kind": "news", "new": True}, "b": {"kind": "sport", "new": False}},
            item=item,
            propensities=[0.5, 0.5],
            value=float(liked),
            outcome="feedback",
        )
        lines.append(line)
    workspace = vowpalwabbit.Workspace("--dsjson --cb_explore_adf -q ci --quiet")
    for text in DsJson().page(lines).splitlines():
        examples = workspace.parse(text.decode())
        workspace.learn(examples)
        workspace.finish_example(examples)
    assert workspace.get_weighted_examples() == 300
    # The estimated cost of what was learnt: a random policy would have -0.5 in the mean.
    assert math.isfinite(workspace.get_sum_loss())
    assert workspace.get_sum_loss() / 300 < -0.7
    workspace.finish()
