"""Files for operators: alert rules, a dashboard of Grafana, a unit of systemd."""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from prometheus_client.parser import text_string_to_metric_families

from fabcost.service.http.routes import operations
from fabcost.service.settings import PREFIX, Settings
from fabcost.service.telemetry import Metrics
from fabcost.wire.statistics import LiftView

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
RULES = DEPLOY / "alerts.yml"
#: A metric, and what is said of its labels.
SELECTOR = re.compile(r"(fabcost_\w+)(?:\{([^}]*(?:\{\w+\}[^}]*)?)\})?")
NAME = re.compile(r"^fabcost_\w+")
#: What Prometheus adds.
OF_THE_TARGET = {"instance", "job"}
LABEL = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"([^\"]*)\"")
PROMTOOL, SYSTEMD = shutil.which("promtool"), shutil.which("systemd-analyze")


@pytest.fixture(scope="module")
def known() -> dict[str, set[str]]:
    """The labels of every sample that a server tells."""
    metrics = Metrics()
    metrics.requested("/v1", "GET", 200, 0.1)
    metrics.decided("m", "bandit", durable=True, entropy=0.5)
    metrics.fed_back("m", "late")
    metrics.resolved("m", "bandit", clicked=True, expired=False)
    metrics.rate_limited("k")
    metrics.applied("m", 1)
    metrics.lagged("m", 1)
    metrics.refreshed("m", 1.0)
    metrics.degraded(["m"])
    metrics.alarmed("m", ["drift"])
    metrics.gained("m", None, {"bandit": 1.0})
    found: dict[str, set[str]] = {"fabcost_lift": {"model", "what"}}
    for family in text_string_to_metric_families(metrics.render().decode()):
        for sample in family.samples:
            found[sample.name] = set(sample.labels)
    return found


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def panels() -> list[dict[str, Any]]:
    board = json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = board["panels"]
    return found


def expressions() -> Iterator[str]:
    yield from (each["expr"] for each in rules())
    for panel in panels():
        yield from (each["expr"] for each in panel.get("targets", []))


def test_every_metric_and_label_is_told(known: dict[str, set[str]]) -> None:
    for expression in expressions():
        for name, said in SELECTOR.findall(expression):
            labels = {label for label, _ in LABEL.findall(said)}
            assert labels <= known[name] | OF_THE_TARGET, expression
        grouped = re.findall(r"by \(([^)]*)\)", expression)
        asked = {each.strip() for group in grouped for each in group.split(",")}
        told = set().union(*(known[name] for name, _ in SELECTOR.findall(expression)), {"le"})
        assert asked <= told | OF_THE_TARGET, expression


def test_values_of_labels_are_told() -> None:
    routes = {each.path for each in operations(Settings())}
    kinds = {"value", "low", "high", "p"}
    assert {"value", "low", "high", "share_p"} <= set(LiftView.__struct_fields__)
    for expression in expressions():
        for label, value in LABEL.findall(expression):
            assert label != "route" or value in routes, expression
            assert label != "what" or value in kinds, expression


def test_the_dashboard_shows_every_metric(known: dict[str, set[str]]) -> None:
    """But for its version, which is a number of impressions, and what histograms have beside."""
    shown = " ".join(each for each in expressions())
    families = {re.sub(r"_(bucket|count|sum|created|total)$", "", name) for name in known}
    missing = {name for name in families if name not in shown and name.startswith("fabcost_")}
    assert missing == {"fabcost_posterior_version"}


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        place = panel["gridPos"]
        own = {
            (place["x"] + i, place["y"] + j) for i in range(place["w"]) for j in range(place["h"])
        }
        assert not own & taken, panel["title"]
        assert max(x for x, _ in own) < 24
        taken |= own
    assert len({panel["id"] for panel in panels()}) == len(panels())


def test_every_alert_says_what_to_do() -> None:
    for rule in rules():
        assert set(rule["annotations"]) == {"summary", "do"}, rule["alert"]
        assert rule["labels"]["severity"] in ("page", "ticket")
    assert len({rule["alert"] for rule in rules()}) == len(rules())


with_promtool = pytest.mark.skipif(
    PROMTOOL is None and os.environ.get("FABCOST_REQUIRE_PROMTOOL") != "1",
    reason="promtool is not installed",
)


@with_promtool
@pytest.mark.parametrize("arguments", [("check", "alerts.yml"), ("test", "alerts.test.yml")])
def test_promtool_finds_nothing(arguments: tuple[str, str]) -> None:
    command = [str(PROMTOOL), arguments[0], "rules", arguments[1]]
    done = subprocess.run(command, cwd=DEPLOY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_rule_fires_in_the_test_of_promtool() -> None:
    """All at once: the test is exact, one that did not fire or fired for others would end it."""
    tests = yaml.safe_load((DEPLOY / "alerts.test.yml").read_text(encoding="utf-8"))["tests"]
    every, healthy = tests[-1]["promql_expr_test"]
    fired = re.findall(r'alertname="(\w+)"', str(every["exp_samples"]))
    assert sorted(fired) == sorted(rule["alert"] for rule in rules())
    assert healthy["exp_samples"] == []
    told = {name for each in tests[-1]["input_series"] for name in NAME.findall(each["series"])}
    asked = {name for rule in rules() for name, _ in SELECTOR.findall(rule["expr"])}
    assert told == asked


@with_promtool
@pytest.mark.parametrize(("before", "after"), [("== 1", "== 2"), ("for: 5m", "for: 5d")])
def test_promtool_finds_what_is_broken(tmp_path: Path, before: str, after: str) -> None:
    for name in ("alerts.yml", "alerts.test.yml"):
        text = (DEPLOY / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace(before, after), encoding="utf-8")
    command = [str(PROMTOOL), "test", "rules", "alerts.test.yml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1


def test_the_unit_is_as_the_server_needs_it() -> None:
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "fabcost.service", encoding="utf-8")
    service = unit["Service"]
    assert int(service["TimeoutStopSec"]) > Settings().shutdown_seconds
    assert service["ExecStart"].endswith("/fabcost serve")
    text = (DEPLOY / "fabcost.service").read_text(encoding="utf-8")
    for name in re.findall(rf"Environment={PREFIX}(\w+)=", text):
        assert name.lower() in Settings.__struct_fields__


@pytest.mark.skipif(SYSTEMD is None, reason="systemd-analyze is not installed")
def test_systemd_reads_the_unit(tmp_path: Path) -> None:
    """With a program that is there, and without a manager that runs."""
    text = (DEPLOY / "fabcost.service").read_text(encoding="utf-8")
    unit = tmp_path / "fabcost.service"
    for words, complaint in ((text, ""), (text.replace("RestartSec", "RestratSec"), "RestratSec")):
        unit.write_text(words.replace("/opt/fabcost/bin/fabcost", "/bin/true"), encoding="utf-8")
        command = [str(SYSTEMD), "verify", "--man=no", "--recursive-errors=no", str(unit)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        own = [line for line in done.stderr.splitlines() if "fabcost.service" in line]
        assert bool(own) == bool(complaint), done.stderr
        assert complaint in "".join(own)
