"""Models."""

from __future__ import annotations

from fabcost.service.http.answer import Answer, answer, nothing
from fabcost.service.http.bodies import ModelsAnswer, NewModel
from fabcost.service.http.operation import Call
from fabcost.wire.checks import check_depth


async def list_models(call: Call) -> Answer:
    """All models, or the one that the key opens."""
    only = call.principal.model
    models = call.site.service.models()
    return answer(ModelsAnswer([each for each in models if only in (None, each.name)]))


async def create_model(call: Call) -> Answer:
    """Make a model."""
    request: NewModel = call.body
    check_depth(request.settings.schema)
    return answer(await call.site.service.create_model(request.name, request.settings), 201)


async def get_model(call: Call) -> Answer:
    """A model as it is now."""
    return answer(call.site.service.model(call.model))


async def change_model(call: Call) -> Answer:
    """Change settings; those of how a model learns are fixed.

    They hold for decisions to come. `default_reward`, `click_threshold` and `aggregation` also
    touch decisions that are still open.
    """
    return answer(await call.site.service.change_model(call.model, call.body))


async def delete_model(call: Call) -> Answer:
    """Forget a model, its items, its decisions and all that it has learnt."""
    await call.site.service.delete_model(call.model)
    call.site.service.metrics.forget(call.model)
    return nothing()


async def get_posterior(call: Call) -> Answer:
    """The weights of a model by name, with their means and sds."""
    return answer(call.site.service.posterior(call.model))
