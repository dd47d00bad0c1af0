"""A model with a wide belief on the page: what cannot be listed is said in words."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.service.dashboard.adverts import Adverts
from tests.service.dashboard.visitor import Visitor


def test_weights_without_names_are_told_of_in_words(visitor: Visitor, served: Adverts) -> None:
    served.make_model("wide", belief={"kind": "wide", "bits": 20})
    served.live_through("wide", decisions=12)
    posterior = served.ask("GET", "models/wide/posterior")
    assert posterior["weights"] == []
    visitor.page.goto(f"{visitor.url}/?model=wide")
    expect(visitor.page.locator("#connection")).to_have_text("Live", timeout=60_000)
    expect(visitor.page.locator("#learnt-note")).to_have_text(posterior["note"])
    expect(visitor.page.locator("#learnt")).to_have_text("Its weights have no names.")
    assert visitor.faults == []
