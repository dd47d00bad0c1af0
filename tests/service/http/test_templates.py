"""Templates of paths."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from fabcost.service.http.fastpath import Templates
from tests.examples import examples

SEGMENTS = st.text("ab{}:%.ü ", min_size=0, max_size=4)


@given(st.lists(SEGMENTS, max_size=6))
@settings(max_examples=examples(200), deadline=None)
def test_any_path_finds_what_the_templates_say(segments: list[str]) -> None:
    templates = ["/a", "/a/{x}", "/a/{x}/b", "/a/{x}/b/{y:path}"]
    known = Templates([("GET", each, each) for each in templates])
    path = "/" + "/".join(segments)
    rest = path.removeprefix("/a/")
    expected = None
    if path == "/a":
        expected = "/a"
    elif path.startswith("/a/") and rest.partition("/")[0]:
        _, slash, tail = rest.partition("/")
        if not slash:
            expected = "/a/{x}"
        elif tail == "b":
            expected = "/a/{x}/b"
        elif tail.startswith("b/"):
            expected = "/a/{x}/b/{y:path}"
    found = known.find(path)
    assert (None if found is None else found.values["GET"]) == expected
