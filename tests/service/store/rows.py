"""Rows as tests want them."""

from __future__ import annotations

from typing import Any

from fabcost.service.store.rows import DecisionRow, FeedbackRow, KeyRow, ModelRow, Resolution


def model_row(model: str = "news", **changes: Any) -> ModelRow:
    return ModelRow(model, '{"seed": 1}', 10.0, 11.0, 0, 0)._replace(**changes)


def decision_row(decision: str = "d-1", **changes: Any) -> DecisionRow:
    row = DecisionRow(
        model="news",
        decision=decision,
        made=100.0,
        deadline=700.0,
        arm="bandit",
        item="ad-1",
        active=True,
        learns=True,
        features="[[0, 2], [1.0, 0.5]]",
        record='{"context": {}}',
    )
    return row._replace(**changes)


def resolution(decision: str = "d-1", **changes: Any) -> Resolution:
    return Resolution("news", decision, 200.0, "feedback", 1.0, 1, None)._replace(**changes)


def feedback_row(decision: str = "d-1", **changes: Any) -> FeedbackRow:
    return FeedbackRow("news", decision, "", 1.0, 150.0, "applied")._replace(**changes)


def key_row(key_id: str = "k-1", **changes: Any) -> KeyRow:
    return KeyRow(key_id, "ab" * 32, "site", "decide", None, 5.0, None)._replace(**changes)
