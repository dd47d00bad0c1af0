"""What is wrong with a request is said in words that name the key at fault."""

from __future__ import annotations

import msgspec
import pytest

from fabcost.service.http.routes import operations
from fabcost.service.settings import Settings
from fabcost.wire.errors import in_words

BODIES = {each.handler.__name__: each.body for each in operations(Settings())}


@pytest.mark.parametrize(
    ("operation", "body", "words"),
    [
        ("create_model", b"[]", "the body must be an object but is a list"),
        ("create_model", b"{}", "'name' is missing"),
        ("create_model", b'{"name":"a","x":1}', "'x' is not known"),
        ("create_model", b'{"name":3}', "'name' must be text but is a whole number"),
        ("create_model", b'{"name":"a b"}', "'name' must be at most 64 letters, digits, "),
        (
            "create_model",
            b'{"name":"a","settings":{"holdback":2}}',
            "'holdback' in 'settings' must be a number <= 1.0",
        ),
        (
            "create_model",
            b'{"name":"a","settings":{"policy":{}}}',
            "'kind' in 'policy' in 'settings' is missing",
        ),
        (
            "create_model",
            b'{"name":"a","settings":{"policy":{"kind":"epsilon-greedy","eps":0.5}}}',
            "'eps' in 'policy' in 'settings' is not known",
        ),
        (
            "create_model",
            b'{"name":"a","settings":{"propensities":"q"}}',
            "'propensities' in 'settings' is 'q', which is none of the values that it may have",
        ),
        (
            "decide",
            b'{"context":{"b":1,"a":[1]}}',
            "'a' in 'context' must be true or false or a whole number or a number or text or null "
            "but is a list",
        ),
        ("decide", b'{"candidates":{"z":{},"ad":{"y":2,"x":{}}}}', "'x' in 'ad' in 'candidates' "),
        ("decide", b'{"items":["a",1]}', "entry 2 in 'items' must be text but is a whole number"),
        ("decide", b'{"context":{"":1}}', "a name in 'context' must be text of length >= 1"),
        ("decide", b'{"values":{"a":-1}}', "a value in 'values' must be a number >= 0.0"),
        (
            "give_bulk_feedback",
            b'{"feedback":[{"decision_id":"a"},{"decision_id":"a","value":1e9}]}',
            "'value' in entry 2 in 'feedback' must be a number <= 1000000.0",
        ),
    ],
)
def test_the_key_at_fault_is_named(operation: str, body: bytes, words: str) -> None:
    with pytest.raises(msgspec.ValidationError) as refused:
        msgspec.json.decode(body, type=BODIES[operation])
    assert in_words(refused.value, body).startswith(words)
    assert "`" not in in_words(refused.value, body)
