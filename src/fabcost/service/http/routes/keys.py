"""API keys."""

from __future__ import annotations

import time

from fabcost.service.http.answer import Answer, answer, nothing
from fabcost.service.http.auth import new_key
from fabcost.service.http.bodies import KeyAnswer, KeysAnswer, NewKey
from fabcost.service.http.operation import Call
from fabcost.service.http.problem import RefusedError
from fabcost.service.store.rows import KeyRow


async def list_keys(call: Call) -> Answer:
    """All keys without their secrets, revoked ones too."""
    return answer(KeysAnswer([_shown(row) for row in await call.site.service.keys()]))


async def create_key(call: Call) -> Answer:
    """Make a key; its text is in this answer and nowhere else."""
    request: NewKey = call.body
    call.check_ids([request.name])
    row, text = new_key(request.name, request.roles, request.model, now=time.time())
    try:
        await call.site.service.insert_key(row)
        await call.site.reread_keys()
    except BaseException:  # also if it took too long
        call.site.service.take_back_key(row.key_id)
        raise
    return answer(_shown(row, text), 201)


async def revoke_key(call: Call) -> Answer:
    """Revoke a key, at once here and within two seconds elsewhere."""
    key_id = call.parameters["key_id"]
    if not await call.site.service.revoke_key(key_id):
        raise RefusedError(404, "unknown_key", f"there is no key {key_id!r} in force")
    await call.site.reread_keys()
    return nothing()


def _shown(row: KeyRow, text: str | None = None) -> KeyAnswer:
    return KeyAnswer(
        key_id=row.key_id,
        name=row.name,
        roles=row.roles.split(","),
        model=row.model,
        created=row.created,
        revoked=row.revoked,
        key=text,
    )
