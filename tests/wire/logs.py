"""Lines of logs, made up, and how they are written."""

from __future__ import annotations

from hypothesis import strategies as st
from msgspec import UNSET

from fabcost.wire.formats import WRITERS
from fabcost.wire.line import LARGEST_TOTAL, LogLine
from fabcost.wire.messages import LogFormat

FORMATS: tuple[LogFormat, ...] = ("jsonl", "parquet", "dsjson")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
IDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=10)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.booleans() | st.integers(-(2**53), 2**53) | NUMBERS | TEXTS
RECORDS = st.dictionaries(IDS, SCALARS | st.none(), max_size=4)


@st.composite
def log_lines(draw: st.DrawFn) -> LogLine:
    candidates = draw(st.dictionaries(IDS, RECORDS, min_size=1, max_size=4))
    shares = st.lists(st.floats(0.0, 1.0), min_size=len(candidates), max_size=len(candidates))
    value = draw(st.none() | st.floats(-LARGEST_TOTAL, LARGEST_TOTAL))
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
        # A value of 1 and a cost of 0 are left out.
        click_value=draw(st.just(UNSET) | st.floats(0.0, 1e9).filter(lambda value: value != 1.0)),
        cost=draw(st.just(UNSET) | st.floats(-1e9, 1e9).filter(bool)),
    )


PAGES = st.lists(st.lists(log_lines(), min_size=1, max_size=3), max_size=3)


def written(pages: list[list[LogLine]], form: LogFormat) -> bytes:
    writer = WRITERS[form]()
    return b"".join([*map(writer.page, pages), writer.end()])
