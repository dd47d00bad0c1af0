"""Decisions whose time has no date: earlier versions took them from logs."""

from __future__ import annotations

import pytest

from tests.service.dashboard.visitor import Visitor

CELL = """
    const [made] = values;
    const decision = { decision_id: "d", item: "a", arm: "imported", candidates: ["a"], made };
    const table = new module.DecisionsTable(null, null, null);
    return table.cells({ settings: { click_threshold: 0 } }, decision)[0].outerHTML;
"""


@pytest.mark.parametrize("made", [-1e300, 1e300])
def test_a_time_without_a_date_is_a_dash(visitor: Visitor, made: float) -> None:
    shown = visitor.evaluate("/dashboard/decisions_table.js", CELL, made)
    assert shown == '<time datetime="">–</time>'


def test_a_time_with_a_date_is_shown(visitor: Visitor) -> None:
    shown = visitor.evaluate("/dashboard/decisions_table.js", CELL, 86_400.0)
    assert shown.startswith('<time datetime="1970-01-02T00:00:00.000Z">')
