"""What axe-core has to say about a page."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from playwright.sync_api import Page

GRAVE = {"serious", "critical"}
AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


#: The first element of each class that `selector` finds.
FIRSTS = """(selector) => [...new Map(
    [...document.querySelectorAll(selector)].reverse().map((each) => [each.className, each])
).values()]"""


def problems(page: Page, *rules: str, firsts: str | None = None) -> list[str]:
    """Those that are serious or worse, by these rules or by all, each with its element.

    With a selector ``firsts`` only one element of each class that it finds is looked at: a long
    page takes axe-core half a minute.
    """
    page.evaluate(AXE)
    where = "document" if firsts is None else f"({FIRSTS})({firsts!r})"
    found: dict[str, Any] = page.evaluate(
        f"(rules) => axe.run({where}, rules)", {"runOnly": rules} if rules else {}
    )
    assert found["passes"]
    return [
        f"{each['id']}: {node['html']}"
        for each in found["violations"]
        if each["impact"] in GRAVE
        for node in each["nodes"]
    ]
