"""Logs in files, and `fabcost evaluate` on them."""

from __future__ import annotations

import csv
import gzip
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner, Result

import fabcost
from fabcost import Tally
from fabcost.cli import application
from fabcost.features.tables import cells
from fabcost.inference import ep
from fabcost.offline import estimators
from fabcost.offline.evaluate.evaluation import evaluated
from fabcost.offline.evaluate.outlook import EvaluationSettings, Target
from fabcost.offline.folds import cross_fits
from fabcost.offline.logs.decisions import Columns, check_kinds, read_items, read_log
from fabcost.offline.logs.rounds import Log, LoggedItems

DATA = os.environ.get("FABCOST_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="FABCOST_DATA names no data directory")
ITEMS = {"a": (0.0, "red"), "b": (1.0, "blue"), "c": (2.0, "red"), "d": (3.0, "blue")}
COLUMNS = Columns("click", "p", "item", ("device", "age"))
OPTIONS = ("--reward", "click", "--propensity", "p", "--action", "item")
CONTEXT = ("--context", "device", "--context", "age")

Rows = list[dict[str, Any]]


def simulated(rounds: int = 400, seed: int = 0) -> Rows:
    """Item d is clicked most, and more so on a phone."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(rounds):
        item, device = rng.choice(list(ITEMS)), rng.choice(["phone", "desk"])
        rate = 0.1 + 0.1 * ITEMS[str(item)][0] + 0.1 * (device == "phone")
        clicked = int(rng.random() < rate)
        age = int(rng.integers(20, 60))
        rows.append({"item": item, "click": clicked, "p": 0.25, "device": device, "age": age})
    return rows


def write(path: Path, rows: Rows) -> Path:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_items(path: Path) -> Path:
    return write(path, [{"item": i, "size": s, "colour": c} for i, (s, c) in ITEMS.items()])


def command(*arguments: str | Path) -> Result:
    return CliRunner().invoke(application, ["evaluate", *(str(each) for each in arguments)])


def found(out: Path) -> dict[str, Any]:
    return dict(json.loads((out / "evaluation.json").read_text(encoding="utf-8")))


def test_command_writes_table_picture_and_result(tmp_path: Path) -> None:
    log = write(tmp_path / "log.csv", simulated())
    items, out = write_items(tmp_path / "items.csv"), tmp_path / "out"
    policies = ("uniform", "always:d", "thompson:0.5", "learning-greedy")
    flags = [flag for policy in policies for flag in ("--policy", policy)]
    result = command(log, *OPTIONS, *CONTEXT, "--items", items, *flags, "--out", out)
    assert result.exit_code == 0, result.output
    assert "400 rounds" in result.output
    assert (out / "evaluation.png").read_bytes().startswith(b"\x89PNG")
    summary = found(out)
    assert (summary["rounds"], summary["items"], summary["skipped"]) == (400, 4, {})
    assert summary["settings"]["seed"] == 0
    assert {each["policy"] for each in summary["estimates"]} == set(policies)
    by_name = {(e["policy"], e["estimator"]): e for e in summary["estimates"]}
    assert len(by_name) == 3 * 6 + 1
    assert by_name["uniform", "ips"]["value"] == pytest.approx(summary["click_rate"]["value"])
    rewards = [row["click"] for row in simulated() if row["item"] == "d"]
    assert by_name["always:d", "replay"]["used"] == len(rewards)
    assert by_name["always:d", "snips"]["value"] == pytest.approx(np.mean(rewards))
    assert by_name["always:d", "dr"]["value"] > by_name["uniform", "dr"]["value"]


def test_formats_agree(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    rows = simulated(50)
    for row in rows:
        row["item"], row["device"] = str(row["item"]), str(row["device"])
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "log.parquet")
    plain = read_log(write(tmp_path / "log.csv", rows), COLUMNS)
    semicolons = tmp_path / "semicolons.csv"
    semicolons.write_text((tmp_path / "log.csv").read_text().replace(",", ";"))
    packed = write(tmp_path / "log.csv.gz", rows)
    lines = tmp_path / "log.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for other in (tmp_path / "log.parquet", packed, semicolons, lines):
        log = read_log(other, COLUMNS)
        assert log.items.ids == plain.items.ids
        for name in ("reward", "propensity", "action", "situation", "contexts"):
            np.testing.assert_array_equal(getattr(log, name), getattr(plain, name))


BAD = [
    ("p", "", "p is missing but must lie in (0, 1]"),
    ("p", "nan", "p is 'nan' but must lie in (0, 1]"),
    ("p", "-0.5", "p is '-0.5' but must lie in (0, 1]"),
    ("p", "0", "p is '0' but must lie in (0, 1]"),
    ("p", "1.5", "p is '1.5' but must lie in (0, 1]"),
    ("p", "often", "p is 'often' but must lie in (0, 1]"),
    ("click", "2", "click is '2' but must be an outcome: 0 or 1"),
    ("click", "maybe", "click is 'maybe' but must be an outcome: 0 or 1"),
    ("item", "z", "item is 'z' but must be a known item"),
    ("item", "N/A", "item is 'N/A' but must have a value"),
    ("age", "old", "age is 'old' but must be a finite number"),
    ("age", "inf", "age is 'inf' but must be a finite number"),
]
#: One of each column: a row is skipped alike, whatever was wrong with it.
SKIPPED = {("p", "nan"), ("click", "maybe"), ("item", "z"), ("age", "old")}


@pytest.mark.parametrize(("column", "value", "complaint"), BAD)
def test_bad_row_is_named_or_skipped(
    tmp_path: Path, column: str, value: str, complaint: str
) -> None:
    rows = simulated(30)
    rows[6][column] = value
    log, items = write(tmp_path / "log.csv", rows), write_items(tmp_path / "items.csv")
    arguments = (log, *OPTIONS, *CONTEXT, "--items", items, "--policy", "uniform")
    refused = command(*arguments, "--out", tmp_path / "out")
    assert refused.exit_code == 2
    assert "log.csv has 1 bad row:\n" in refused.output
    assert f"row 7: {complaint}" in refused.output
    assert not (tmp_path / "out").exists()
    if (column, value) not in SKIPPED:
        return
    skipped = command(*arguments, "--out", tmp_path / "out", "--skip-bad-rows")
    assert skipped.exit_code == 0, skipped.output
    assert "bad rows skipped: 1" in skipped.output
    assert found(tmp_path / "out")["rounds"] == 29
    assert sum(found(tmp_path / "out")["skipped"].values()) == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--context", "height"), "has no column 'height'; it has item, click, p, device, age"),
        (("--policy", "magic"), "policy is 'magic' but must be one of default, thompson"),
        (("--policy", "thompson:x"), "'x' does not suit thompson"),
        (("--policy", "always:z"), "there is no item 'z'"),
        (("--estimator", "guess"), "estimator is 'guess'"),
        (("--level", "2"), "level is 2.0"),
        (("--policy", "greedy", "--folds", "31"), "folds is 31"),
    ],
)
def test_wrong_settings_are_named(
    tmp_path: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    log = write(tmp_path / "log.csv", simulated(30))
    result = command(log, *OPTIONS, *arguments, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert complaint in " ".join(result.output.split())


def test_what_is_missing_of_a_context_has_a_weight(tmp_path: Path) -> None:
    rows = simulated(40)
    rows[3]["device"], rows[5]["age"] = "NA", "?"
    log = read_log(write(tmp_path / "log.csv", rows), COLUMNS)
    plain = read_log(write(tmp_path / "plain.csv", simulated(40)), COLUMNS)
    assert log.contexts.shape[1] == plain.contexts.shape[1] + 2
    assert not log.skipped


def test_items_table_is_checked(tmp_path: Path) -> None:
    twice = write(tmp_path / "items.csv", [{"item": "a", "size": 1}, {"item": "a", "size": 2}])
    with pytest.raises(ValueError, match="row 2: item is 'a' but must differ from those above"):
        read_items(twice, "item")
    with pytest.raises(ValueError, match="has no column 'name'"):
        read_items(twice, "name")


def test_log_without_a_sound_row(tmp_path: Path) -> None:
    log = write(tmp_path / "log.csv", [{"item": "a", "click": 5, "p": 0.5}])
    with pytest.raises(ValueError, match="no sound row .1 bad"):
        read_log(log, Columns("click", "p", "item"), skip_bad_rows=True)
    with pytest.raises(ValueError, match="must end in .csv"):
        read_log(tmp_path / "log.txt", COLUMNS)


def test_rows_are_constant_context_and_item(tmp_path: Path) -> None:
    rows = [
        {"item": "a", "click": 0, "p": 0.5, "device": "phone", "age": 20},
        {"item": "b", "click": 1, "p": 0.5, "device": "desk", "age": 40},
    ]
    log = read_log(write(tmp_path / "log.csv", rows), COLUMNS)
    np.testing.assert_allclose(log.rows(0), [[1, 0, 1, -1, 1, 0], [1, 0, 1, -1, 0, 1]])
    np.testing.assert_allclose(log.logged_rows(), [[1, 0, 1, -1, 1, 0], [1, 1, 0, 1, 0, 1]])
    crossed = read_log(tmp_path / "log.csv", COLUMNS, crosses=True)
    assert crossed.rows(0).shape == (2, (1 + 3) * (1 + 2))


def test_rows_that_count_decisions_are_as_many(tmp_path: Path) -> None:
    rows = simulated(40)
    counted = [{**row, "click": 2 * row["click"], "shown": 3} for row in rows]
    single = [{**row, "click": int(k < 2 * row["click"])} for row in rows for k in range(3)]
    texts = []
    for name, log, more in (
        ("counted", counted, ("--impressions", "shown")),
        ("single", single, ()),
    ):
        path, out = write(tmp_path / f"{name}.csv", log), tmp_path / name
        given = (path, *OPTIONS, *CONTEXT, *more, "--estimator", "ips", "--out", out)
        assert command(*given).exit_code == 0
        texts.append(found(out)["estimates"])
    assert texts[0][0] == texts[1][0]
    assert texts[0][0]["policy"] == "uniform"
    # Those that learn have one site for equal rounds, which is not quite as many sites.
    for counted_one, single_one in zip(*texts, strict=True):
        assert counted_one["value"] == pytest.approx(single_one["value"], rel=0.01)


def test_equal_rows_are_one_to_a_model_where_they_are_counted(tmp_path: Path) -> None:
    """Predictions are those of the rows one by one, nearly: a site for many is not many sites."""
    rows = simulated(120)
    values = {}
    for name, log, more in (
        ("single", [row for row in rows for _ in range(3)], ()),
        ("counted", [{**r, "click": 3 * r["click"], "n": 3} for r in rows], ("--impressions", "n")),
        ("weighted", [{**row, "w": 3.0} for row in rows], ("--weight", "w")),
        ("half", [{**row, "w": 0.5} for row in rows], ("--weight", "w")),
    ):
        path, out = write(tmp_path / f"{name}.csv", log), tmp_path / name
        policy = ("--policy", "uniform", "--estimator", "dm", "--folds", "2")
        named = ("--clicks", "click", *OPTIONS[2:]) if name == "counted" else OPTIONS
        done = command(path, *named, *CONTEXT, *more, *policy, "--out", out)
        assert done.exit_code == 0, done.output
        values[name] = found(out)["estimates"][0]["value"]
    assert values["counted"] == pytest.approx(values["single"], rel=0.01)
    assert values["counted"] != values["single"]
    assert values["half"] != values["weighted"]


def test_a_model_of_weighted_rows_is_that_of_repeated_ones() -> None:
    """By EP of the rows of the others, which is a batch without folds."""
    rng = np.random.default_rng(3)
    X, y, w = rng.normal(size=(40, 2)), rng.random(40) < 0.4, rng.integers(0, 4, size=40)
    prior, streams = fabcost.Gaussian.isotropic(2), [np.random.default_rng(1) for _ in range(2)]
    fits = cross_fits(prior, X, y, folds=4, rng=streams[0], weight=w, group=True)
    for (held_out, fitted), fold in zip(
        fits, np.array_split(streams[1].permutation(40), 4), strict=True
    ):
        others = np.setdiff1d(np.arange(40), fold)
        assert sorted(held_out) == sorted(fold)
        whole = Tally(w[others] * y[others], w[others])
        expected = ep.fit(prior, X[others], whole, tolerance=1e-6).posterior
        np.testing.assert_allclose(fitted.posterior.mean, expected.mean, atol=1e-5)


@pytest.mark.parametrize("reward", ["0.3", "1.5", "-0.1", "nan"])
def test_a_reward_may_be_a_fraction(tmp_path: Path, reward: str) -> None:
    rows = simulated(60)
    rows[6]["click"] = reward
    given = (*OPTIONS, *CONTEXT, "--policy", "uniform", "--policy", "learning-thompson")
    done = command(write(tmp_path / "log.csv", rows), *given, "--out", tmp_path / "out")
    assert done.exit_code == (0 if reward == "0.3" else 2), done.output
    if reward == "0.3":
        rate = found(tmp_path / "out")["click_rate"]["value"]
        assert rate == pytest.approx(sum(float(row["click"]) for row in rows) / 60)
    else:
        assert "row 7: click" in done.output
        assert "or a number between 0 and 1" in done.output


def test_slot_limits_the_candidates(tmp_path: Path) -> None:
    rows = [
        {"item": item, "click": int(item == "c"), "p": 0.5, "slot": slot}
        for item, slot in [("a", 1), ("b", 1), ("b", 2), ("c", 2)]
    ]
    log = read_log(
        write(tmp_path / "log.csv", rows), Columns("click", "p", "item", (), slot="slot")
    )
    assert [log.offered[s].tolist() for s in (0, 1)] == [[0, 1], [1, 2]]
    result = evaluated(log, [Target.parse("uniform")], EvaluationSettings(estimators=("ips",)))
    assert result.findings[0].estimate.value == 0.25
    assert result.reaches["uniform"].weight.value == 1.0


def test_result_depends_on_the_seed_alone(tmp_path: Path) -> None:
    log = read_log(write(tmp_path / "log.csv", simulated(200)), COLUMNS)
    pair = [Target.parse(name) for name in ("greedy", "thompson")]
    first = evaluated(log, pair, EvaluationSettings(seed=3)).findings
    assert evaluated(log, pair, EvaluationSettings(seed=3)).findings == first
    assert evaluated(log, pair[1:], EvaluationSettings(seed=3)).findings == first[6:]
    assert evaluated(log, pair, EvaluationSettings(seed=4)).findings != first


@pytest.mark.parametrize("policy", ["greedy", "learning-thompson"])
def test_replay_by_a_propensity_that_is_known_beforehand(policy: str, tmp_path: Path) -> None:
    log = read_log(write(tmp_path / "log.csv", simulated(200)), COLUMNS)
    least = float(log.propensity.min())

    def used(known: float | None) -> float:
        settings = EvaluationSettings(estimators=("replay",), least_propensity=known)
        return evaluated(log, [Target.parse(policy)], settings).findings[0].estimate.used

    assert used(least / 4) < used(least) / 2
    with pytest.raises(
        ValueError, match=f"policy {policy}: .*(largest_weight|least_propensity) is"
    ):
        used(1.0)
    with pytest.raises(ValueError, match="least_propensity is 0.0 but must be above 0 and at most"):
        used(0.0)


def test_propensities_that_do_not_fit_are_noticed(tmp_path: Path) -> None:
    rows = [{**row, "p": 0.5} for row in simulated(200)]
    log = write(tmp_path / "log.csv", rows)
    result = command(log, *OPTIONS, "--policy", "uniform", "--out", tmp_path / "out")
    assert "average 0.5 instead of 1" in " ".join(result.output.split())


def noise(rng: np.random.Generator, rounds: int = 400, items: int = 20) -> Log:
    """A log whose clicks have nothing to do with the items: every policy is worth a fifth."""
    return Log(
        (rng.random(rounds) < 0.2).astype(np.float64),
        np.full(rounds, 1.0 / items),
        rng.integers(items, size=rounds),
        np.zeros(rounds, dtype=np.intp),
        np.zeros((1, 0)),
        [np.arange(items)],
        LoggedItems(tuple(str(i) for i in range(items)), np.eye(items)),
        skipped=Counter(),
    )


def test_a_policy_is_not_praised_for_what_it_has_seen() -> None:
    """False alarms: 6 in 100,000 for each estimator (4 standard errors over 40 logs).

    The same policy judged on the rounds it was fitted on shows what a leak would look like.
    """
    settings = EvaluationSettings(estimators=("snips", "dr"), folds=4)
    values, leaked = [], []
    for rng in np.random.default_rng(11).spawn(40):
        log = noise(rng)
        result = evaluated(log, [Target.parse("greedy")], settings)
        values.append([each.estimate.value for each in result.findings])
        rates = [log.reward[log.action == i].mean() for i in range(20)]
        leaked.append(max(rates))
    error = np.std(values, axis=0, ddof=1) / np.sqrt(40)
    assert (np.abs(np.mean(values, axis=0) - 0.2) < 4.0 * error).all()
    assert np.mean(leaked) - 0.2 > 6.0 * error.max()


@needs_data
@pytest.mark.parametrize("campaign", ["all", "men", "women"])
def test_uniform_policy_on_a_uniform_log_is_worth_its_click_rate(campaign: str) -> None:
    folder = Path(str(DATA)) / "open_bandit" / "random" / campaign
    log = read_log(
        folder / f"{campaign}.csv.gz",
        Columns("click", "propensity_score", "item_id", ("position",)),
        items=read_items(folder / "item_context.csv", "item_id"),
    )
    settings = EvaluationSettings(estimators=("replay", "ips", "snips", "dm", "dr", "sndr"))
    result = evaluated(log, [Target.parse("uniform")], settings)
    clicks, rounds = int(log.reward.sum()), log.reward.size
    exact = stats.binomtest(clicks, rounds).proportion_ci(0.95, "exact")
    assert rounds == 10_000
    assert not list(result.warnings())
    for each in result.findings:
        assert exact.low <= each.estimate.value <= exact.high, each.estimator
    assert result.findings[1].estimate == estimators.ips(log.reward, *[np.ones(rounds)] * 2)


def test_columns_of_a_log_are_what_one_says(tmp_path: Path) -> None:
    rows = "".join(f"{i % 2},0.5,ad-{i % 2},{i % 3},{i % 4}\n" for i in range(24))
    (tmp_path / "log.csv").write_text("click,p,item,shop,age\n" + rows)
    (tmp_path / "items.csv").write_text("item,code\nad-0,7\nad-1,9\n")
    columns = Columns("click", "p", "item", ("shop", "age"))
    widths = []
    told: dict[str, cells.Kind] = {"shop": "category"}
    for kinds in (None, told):
        log = read_log(tmp_path / "log.csv", columns, kinds=kinds)
        widths.append(log.contexts.shape[1])
    assert widths[1] == widths[0] + 2  # three shops in place of one number
    known = read_items(tmp_path / "items.csv", "item", kinds={"code": "category"})
    assert known.features.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(ValueError, match="'size' is neither a --context nor one of --items"):
        check_kinds(["code", "size"], [], columns, tmp_path / "items.csv")


def test_columns_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("click,p,item,shop,age\n0,0.5,ad-0,1,2\n1,0.5,ad-1,2,3\n")
    (tmp_path / "items.csv").write_text("item,code,size\nad-0,7,1\nad-1,9,2\n")
    columns = Columns("click", "p", "item", ("shop",))
    known = read_items(tmp_path / "items.csv", "item", drop=["size", "age"])
    assert known.features.shape == (2, 1)
    unused = check_kinds([], ["size", "age"], columns, tmp_path / "items.csv")
    assert unused == ["age"]
    assert read_log(tmp_path / "log.csv", columns, drop=unused).contexts.shape[1] == 1
    with pytest.raises(ValueError, match="no column 'sice'"):
        read_log(tmp_path / "log.csv", columns, drop=["sice"])
    with pytest.raises(ValueError, match="'shop' is dropped, but another option names it"):
        check_kinds([], ["shop"], columns, None)
