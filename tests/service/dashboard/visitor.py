"""A browser with the dashboard open, and what goes wrong in it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from playwright.sync_api import Browser, Page, Request, expect


class Visitor:
    """A page; ``faults`` are errors of scripts and console, and requests to elsewhere."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.faults: list[str] = []
        self.asked: list[str] = []
        page.on("request", self._note_request)
        page.on("pageerror", lambda error: self.faults.append(f"script: {error}"))
        page.on(
            "console",
            lambda said: self.faults.append(said.text) if said.type == "error" else None,
        )

    @classmethod
    @contextlib.contextmanager
    def arriving(
        cls, browser: Browser, url: str, *, path: str = "", **screen: Any
    ) -> Iterator[Visitor]:
        """The page in a new context of the browser."""
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **screen})
        visitor = cls(context.new_page(), url)
        visitor.page.goto(f"{url}{path}")
        yield visitor
        context.close()

    def see_figures(self) -> None:
        """Wait until the model is shown."""
        expect(self.page.locator("#connection")).to_have_text("Live", timeout=60_000)
        expect(self.page.locator("#tiles .tile").first).to_be_visible(timeout=60_000)

    def figure(self, name: str) -> str:
        """The value of the tile whose label ends with a name."""
        tile = self.page.locator(".tile", has=self.page.locator("dt", has_text=name))
        return tile.locator(".value").inner_text().replace("\u00a0", " ")

    def questions(self) -> list[str]:
        """What was asked of the API, so far."""
        return [each for each in self.asked if "/v1/" in each]

    def wait_until_quiet(self) -> None:
        """Until the page has asked nothing for longer than it pauses."""
        for _ in range(24):
            before = len(self.asked)
            self.page.wait_for_timeout(2_500)
            if len(self.asked) == before:
                return
        raise AssertionError("the page goes on asking")

    def evaluate(self, module: str, expression: str, *values: Any) -> Any:
        """What an expression of ``module`` and ``values`` gives, with a module of the page.

        Both ways as one text: the browser's driver takes seconds for thousands of values.
        """
        script = f"""async (text) => {{
            const module = await import('{module}');
            const compute = (values) => {{ {expression} }};
            return JSON.stringify(compute(JSON.parse(text)));
        }}"""
        return json.loads(self.page.evaluate(script, json.dumps(values)))

    def background(self) -> float:
        """How bright the page is, from 0 to 1."""
        colour = self.page.evaluate("getComputedStyle(document.body).backgroundColor")
        parts = [float(each) for each in colour.removeprefix("rgb(").removesuffix(")").split(",")]
        return sum(parts) / (3 * 255)

    def overflow(self) -> int:
        """How many pixels of the page lie beyond the right edge of the screen."""
        width: int = self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        return width

    def _note_request(self, request: Request) -> None:
        self.asked.append(request.url)
        if not request.url.startswith(f"{self.url}/"):
            self.faults.append(f"request to {request.url}")
