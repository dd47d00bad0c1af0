"""API keys."""

from __future__ import annotations

import time
from typing import Annotated

from msgspec import Meta, Struct

from fabcost.service.http.answer import HttpAnswer, answer, nothing
from fabcost.service.http.auth import Role, new_key
from fabcost.service.http.operation import ApiCall, Operation
from fabcost.service.http.problem import RefusedError
from fabcost.service.store.rows import KeyRow
from fabcost.wire.messages import Id, ModelName


class NewKey(Struct, frozen=True, forbid_unknown_fields=True):
    """A key to be made; without ``model`` it opens all."""

    name: Id
    roles: Annotated[list[Role], Meta(min_length=1, max_length=4)]
    model: ModelName | None = None


class KeyAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A key; ``key``, its text, is there only when it was just made."""

    key_id: str
    name: str
    roles: list[str]
    model: str | None
    created: float
    revoked: float | None
    key: str | None = None


class KeysAnswer(Struct, frozen=True):
    """All keys, revoked ones too."""

    keys: list[KeyAnswer]


async def list_keys(call: ApiCall) -> HttpAnswer:
    """All keys without their secrets, revoked ones too."""
    return answer(KeysAnswer([_shown(row) for row in await call.site.service.keys()]))


async def create_key(call: ApiCall) -> HttpAnswer:
    """Make a key; its text is in this answer and nowhere else."""
    request: NewKey = call.body
    call.check_ids([request.name])
    row, text = new_key(request.name, request.roles, request.model, now=time.time())
    try:
        await call.site.service.insert_key(row)
        await call.site.access.reread_keys()
    except BaseException:  # also if it took too long
        call.site.service.take_back_key(row.key_id)
        raise
    return answer(_shown(row, text), 201)


async def revoke_key(call: ApiCall) -> HttpAnswer:
    """Revoke a key, at once here and within two seconds elsewhere."""
    key_id = call.parameters["key_id"]
    if not await call.site.service.revoke_key(key_id):
        raise RefusedError(404, "unknown_key", f"there is no key {key_id!r} in force")
    await call.site.access.reread_keys()
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


def operations() -> list[Operation]:
    """Making, listing and revoking keys."""
    path = "/v1/keys"
    return [
        Operation("GET", path, list_keys, "admin", KeysAnswer),
        Operation("POST", path, create_key, "admin", KeyAnswer, 201, body=NewKey),
        Operation("DELETE", path + "/{key_id}", revoke_key, "admin", None, 204),
    ]
