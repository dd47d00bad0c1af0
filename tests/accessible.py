"""What axe-core has to say about a page."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from playwright.sync_api import Page

GRAVE = {"serious", "critical"}
AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


def problems(page: Page, *rules: str) -> list[str]:
    """Those that are serious or worse, by these rules or by all, each with its element."""
    page.evaluate(AXE)
    found: dict[str, Any] = page.evaluate(
        "(rules) => axe.run(rules)", {"runOnly": rules} if rules else {}
    )
    assert found["passes"]
    return [
        f"{each['id']}: {node['html']}"
        for each in found["violations"]
        if each["impact"] in GRAVE
        for node in each["nodes"]
    ]
