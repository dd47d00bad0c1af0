"""The guide says what is true."""

from __future__ import annotations

import re
from pathlib import Path

from fabcost.service.personalizer.configuration import configuration_of
from fabcost.service.personalizer.contract import UNOFFERED
from fabcost.wire.settings import ModelSettings
from tests.service.personalizer.loopback import Loopback

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "how-to" / "personalizer.md").read_text(encoding="utf-8")


def test_the_example_runs(server: Loopback) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    here = code.replace("http://127.0.0.1:8000", server.address).replace("fc_…", server.key)
    assert here.count(server.address) == here.count(server.key) == 1
    exec(compile(here, "personalizer.md", "exec"), {})  # noqa: S102 - our own text
    assert server.impressions("food") == 1


def test_every_name_of_a_configuration_is_explained() -> None:
    for name in configuration_of(ModelSettings()):
        assert f"`{name}`" in GUIDE, name


def test_everything_that_is_not_offered_is_listed() -> None:
    table = GUIDE[GUIDE.index("## Not offered") :].lower()
    for start, _, _ in UNOFFERED:
        word = {"multislot": "multi-slot", "featureImportances": "feature importance"}.get(start)
        assert (word or start.rsplit("/", 1)[-1].lower()) in table, start
