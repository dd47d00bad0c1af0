"""A model whose schema grew on another server: its columns become those of the database."""

from __future__ import annotations

import json

from fabcost.service.learning.recovery import schema_of
from fabcost.service.models.model import Model
from fabcost.service.store.rows import DecisionRow, impression, record
from fabcost.wire.messages import DecisionRequest


def regrow(model: Model, steps: list[str]) -> None:
    """Have the columns that the database has; further ones stay if they come after those."""
    schema = model.schema
    known = [json.dumps(step) for step in schema.steps_since(0)]
    common = min(len(known), len(steps))
    if known[:common] == steps[:common]:
        schema.regrow(map(json.loads, steps[common:]))
    else:
        fresh = schema_of(model.settings)
        fresh.regrow(map(json.loads, steps))
        fresh.limit_columns(model.settings.most_weights)
        schema.become(fresh)
        model.catalogue.replace(model.catalogue.version, model.catalogue.items)
        if not model.settings.belief:
            model.learning.tell_all()
            model.begin_to_follow()
    model.lineage += 1
    model.steps_told = len(steps)


def rewritten(model: Model, row: DecisionRow) -> DecisionRow:
    """A decision of the model, in the columns of now."""
    made = record(row.record)
    features = made.item_features if made.features is None else made.features[row.item]
    request = DecisionRequest(context=made.context, candidates={row.item: features or {}})
    scene, _ = model.scenes.of(request)
    alike = impression(row.features).alike
    return row._replace(features=model.written(scene.at(0).row, alike=alike))
