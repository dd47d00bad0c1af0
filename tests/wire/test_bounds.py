"""A small log cannot fill the memory, and whatever it holds it is read or refused in words."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fabcost.service.settings import Settings
from fabcost.service.transfer import limits_of
from fabcost.wire.formats import read_impressions
from fabcost.wire.messages import LogFormat
from fabcost.wire.parquet_sizes import sizes

LIMITS = limits_of(Settings())
MEGABYTE = 1_000_000


def parquet(**columns: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, compression="zstd")
    return sink.getvalue()


def repeated(value: Any, times: int) -> Any:
    """A column of equal values, which takes no memory itself."""
    places = pa.array(np.zeros(times, dtype=np.int32))
    return pa.DictionaryArray.from_arrays(places, pa.array([value]))


def long_texts() -> bytes:
    padded = '{"a": {}}' + MEGABYTE * " "
    return parquet(action=repeated("a", 400), candidates=repeated(padded, 400))


def equal_rows() -> bytes:
    many = 300_000
    return parquet(action=repeated("a", many), candidates=repeated('{"a": {}}', many))


def a_long_list() -> bytes:
    many = 40 * MEGABYTE
    shares = pa.ListArray.from_arrays(pa.array([0, many]), pa.array(np.zeros(many)))
    return parquet(action=["a"], candidates=['{"a": {}}'], propensities=shares)


def a_long_line() -> bytes:
    return b'{"item": "a", "candidates": {%s}}' % b",".join([b'"a":{}'] * 2 * MEGABYTE)


def empty_lines() -> bytes:
    return 20 * MEGABYTE * b"\n"


@contextmanager
def peak() -> Iterator[list[int]]:
    """The most bytes that were taken in the end, by Python and by Arrow."""
    before, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.system_memory_pool())
    taken: list[int] = []
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        yield taken
        taken.append(tracemalloc.get_traced_memory()[1] + pool.max_memory())
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)


@pytest.mark.parametrize(
    ("written", "form", "complaint"),
    [
        (
            long_texts,
            "parquet",
            "the log has 26.,...,... bytes or more when it is not compressed but may have 268,435,",
        ),
        (equal_rows, "parquet", "the log has 300,000 lines but may have 250,000 at once"),
        (a_long_list, "parquet", "the log has 32.,...,... bytes or more when it is not"),
        (a_long_line, "jsonl", "line 1: it has 14,000,030 bytes but may have 8,388,608"),
        (a_long_line, "dsjson", "line 1: it has 14,000,030 bytes but may have 8,388,608"),
        (empty_lines, "jsonl", "the log has 20,000,000 lines but may have 250,000"),
    ],
    ids=["long texts", "equal rows", "a long list", "a long line", "the same", "empty lines"],
)
def test_a_log_that_would_fill_the_memory_is_refused(
    written: Callable[[], bytes], form: LogFormat, complaint: str
) -> None:
    body = written()
    with peak() as taken, pytest.raises(ValueError, match=complaint):
        list(read_impressions(body, form, limits=LIMITS))
    assert taken[0] < 3 * len(body) + 30 * MEGABYTE


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"candidates": [3]}, "column 'candidates' is of type int64 but must be text"),
        ({"candidates": [{"a": {"age": 3}}]}, "column 'candidates' is of type struct"),
        ({"context": [3.5]}, "column 'context' is of type double but must be text"),
        ({"context": [["{}"]]}, "column 'context' is of type list"),
        ({"context": ["3"]}, "line 1: 'context' must be an object but is a whole number"),
        ({"context": [10_000 * "["]}, "line 1: "),
        ({"decision_id": [{"a": 1}]}, "column 'decision_id' is of type struct"),
        ({"decision_id": [3]}, "line 1: 'decision_id' must be text"),
        ({"missing": [[["a"]]]}, "column 'missing' is of type list<element: list"),
        ({"time": pa.array([10**18], pa.timestamp("us"))}, "the file is not Parquet: "),
        ({"time": pa.array([10**15], pa.timestamp("us"))}, "line 1: 'time' must be a number"),
    ],
    ids=lambda each: f"{each}"[:40],
)
def test_columns_of_other_types_are_refused_in_words(
    columns: dict[str, Any], complaint: str
) -> None:
    body = parquet(**{"action": ["a"], "candidates": ['{"a": {}}'], **columns})
    with pytest.raises(ValueError, match=complaint):
        list(read_impressions(body, "parquet", limits=LIMITS))


OWN: dict[str, Any] = {
    "_label_Action": 1,
    "EventId": "d",
    "c": {"context": {"hour": 3}, "_multi": [{"_tag": "a", "item": {"age": 3}}]},
    "fabcost": {"time": 0.0, "value": 1.0},
}
STRANGE: list[Any] = [None, 0, 3, 1.5, True, "", "text", [], [3], [[1, 2]], {}, {"a": []}, 10**30]


@pytest.mark.parametrize("what", ["context", "item"])
@pytest.mark.parametrize("value", [3, "text", [3], [[1, 2]], True])
def test_features_that_are_no_objects_are_refused_in_words(what: str, value: Any) -> None:
    action = {"_tag": "a", "item": {}, **({"item": value} if what == "item" else {})}
    shared = {"_multi": [action], **({"context": value} if what == "context" else {})}
    with pytest.raises(ValueError, match=f"line 1: .*{what}.* but must be an object"):
        list(read_impressions(msgspec.json.encode(OWN | {"c": shared}), "dsjson"))


def strange_lines(line: Any) -> Iterator[Any]:
    """The line with each of its parts replaced by something else."""
    yield from STRANGE
    if isinstance(line, dict | list):
        for key in list(line) if isinstance(line, dict) else range(len(line)):
            for other in strange_lines(line[key]):
                copied = line.copy()
                copied[key] = other
                yield copied


FOREIGN: dict[str, Any] = {
    "_label_cost": -1,
    "_labelIndex": 0,
    "_label_Action": 1,
    "Timestamp": "2020-01-01T00:00:00Z",
    "EventId": "d",
    "a": [1],
    "p": [1.0],
    "o": [{"v": 1.0, "ActionTaken": True}],
    "DeferredAction": True,
    "c": {"FromUrl": [{"hour": 3}], "_multi": [{"_tag": "a", "i": {"id": "a"}, "j": [{"x": 1}]}]},
}
PLAIN: dict[str, Any] = {
    "item": "a",
    "candidates": {"a": {"age": 3}},
    "context": {"hour": 3},
    "decision_id": "d",
    "propensities": [1.0],
    "excluded": [],
    "missing": ["a"],
    "time": 3.5,
}


@pytest.mark.parametrize(("line", "form"), [(OWN, "dsjson"), (FOREIGN, "dsjson"), (PLAIN, "jsonl")])
def test_whatever_a_line_says_it_is_read_or_refused(line: dict[str, Any], form: LogFormat) -> None:
    refused = many = 0
    for given in strange_lines(line):
        many += 1
        try:
            list(read_impressions(msgspec.json.encode(given), form, limits=LIMITS))
        except ValueError:
            refused += 1
    assert many > refused > many / 3


@pytest.mark.parametrize("form", ["jsonl", "dsjson"])
@pytest.mark.parametrize("inside", [b'{"c":%s', b'{"context":%s', b'{"candidates":{"a":{"b":%s'])
def test_what_is_nested_too_deeply_is_refused(inside: bytes, form: LogFormat) -> None:
    for opening in (b"[", b'{"a":'):
        with pytest.raises(ValueError, match="line 1: "):
            list(read_impressions(inside % (100_000 * opening), form, limits=LIMITS))


@pytest.mark.parametrize("compression", ["none", "zstd", "snappy"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_the_size_of_a_parquet_file_is_that_of_its_pages(
    compression: str, version: str, dictionary: bool
) -> None:
    texts = [f"{k} " + 1_000 * "x" for k in range(300)]
    shares = [[float(k)] * k for k in range(300)]
    sink = io.BytesIO()
    pq.write_table(
        pa.table({"a": texts, "b": 300 * ["y"], "c": shares, "left out": texts}),
        sink,
        compression=compression,
        data_page_version=version,
        use_dictionary=dictionary,
        row_group_size=70,
        data_page_size=10_000,
    )
    found = sizes(sink.getvalue(), {"a", "b", "c"})
    least = sum(map(len, texts)) + 8 * (300 + 300 + sum(map(len, shares)))
    assert found.rows == 300
    assert least <= found.decoded < 2 * least


def test_whatever_bytes_a_parquet_file_has_it_is_read_or_refused() -> None:
    rng = np.random.default_rng(7)
    body = parquet(
        action=["a"] * 20,
        candidates=['{"a": {"age": 3}}'] * 20,
        context=['{"hour": 3}'] * 20,
        time=[3.5] * 20,
        propensities=[[1.0]] * 20,
        excluded=[["b"]] * 20,
    )
    refused = 0
    for _ in range(1_000):
        changed = bytearray(body)
        for place in rng.integers(4, len(body), size=rng.integers(1, 4)):
            changed[place] = rng.integers(256)
        try:
            list(read_impressions(bytes(changed), "parquet", limits=LIMITS))
        except ValueError:
            refused += 1
    assert refused > 200
