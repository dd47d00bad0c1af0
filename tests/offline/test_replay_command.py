"""`fabcost replay` from end to end."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import fabcost
from fabcost.cli import application
from tests.offline.replay_logs import simulated, written


def command(*arguments: str | Path) -> Result:
    return CliRunner().invoke(application, ["replay", *(str(each) for each in arguments)])


def found(out: Path) -> dict[str, Any]:
    return dict(json.loads((out / "replay.json").read_text(encoding="utf-8")))


def test_command_writes_table_curves_picture_and_result(tmp_path: Path) -> None:
    X, y = simulated()
    log, out = written(tmp_path / "log.csv", X, y), tmp_path / "out"
    options = ("--reward", "click", "--seeds", "3", "--rounds", "120", "--select", "2")
    result = command(log, *options, "--jobs", "1", "--out", out)
    assert result.exit_code == 0, result.output
    assert f"400 impressions, {y.sum():.0f} clicks" in " ".join(result.output.split())
    assert (out / "replay.png").read_bytes().startswith(b"\x89PNG")
    summary = found(out)
    assert summary["fabcost"] == fabcost.__version__
    assert (summary["rows"], summary["positives"], summary["pool"]) == (400, y.sum(), 360)
    assert summary["columns"][:2] == ["bias", "a"]
    assert (summary["seeds"], summary["checkpoints"]) == ([0, 1, 2], [12, 40, 120])
    assert set(summary["policies"]) == {"fabcost", "laplace", "uniform"}
    ours, theirs = (np.array(summary["policies"][p]["clicks"]) for p in ("fabcost", "laplace"))
    told = summary["policies"]["fabcost"]
    np.testing.assert_allclose(told["difference"]["mean"], (ours - theirs).mean(axis=0))
    with (out / "clicks.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 120
    last = next(row for row in rows if row["policy"] == "fabcost" and row["round"] == "120")
    assert float(last["clicks"]) == pytest.approx(ours[:, -1].mean(), rel=1e-5)
    assert float(last["per_cent"]) == pytest.approx(told["per_cent"]["mean"][-1], rel=1e-5)


def test_result_is_that_of_the_run(tmp_path: Path) -> None:
    log = written(tmp_path / "log.csv", *simulated())
    options = ("--reward", "click", "--seeds", "2", "--rounds", "100", "--policy", "adf")
    texts = []
    for number, more in enumerate([("--jobs", "1"), ("--jobs", "2"), ("--jobs=1", "--seed=7")]):
        out = tmp_path / str(number)
        assert command(log, *options, *more, "--out", out).exit_code == 0
        texts.append((out / "replay.json").read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
    first, other = json.loads(texts[0]), json.loads(texts[2])
    assert other["seeds"] == [7, 8]
    assert first["policies"]["adf"]["clicks"] != other["policies"]["adf"]["clicks"]


def test_rows_may_count_impressions(tmp_path: Path) -> None:
    counted = tmp_path / "counted.csv"
    counted.write_text("age,clicks,shown\n20,2,5\n30,0,4\n50,1,1\n", encoding="utf-8")
    out = tmp_path / "out"
    given = ("--reward", "clicks", "--impressions", "shown", "--policy", "uniform", "--seeds", "2")
    assert command(counted, *given, "--jobs", "1", "--out", out).exit_code == 0
    assert np.array(found(out)["policies"]["uniform"]["clicks"])[:, -1].tolist() == [3, 3]
    assert (found(out)["rows"], found(out)["positives"]) == (10, 3)


def test_clicks_of_impressions_are_named_alone(tmp_path: Path) -> None:
    counted = tmp_path / "counted.csv"
    counted.write_text("age,clicks,shown\n20,2,5\n30,0,4\n50,1,1\n", encoding="utf-8")
    few = ("--impressions", "shown", "--policy", "adf", "--seeds", "2", "--jobs", "1")
    for name in ("--reward", "--clicks"):
        out = tmp_path / name
        assert command(counted, name, "clicks", *few, "--out", out).exit_code == 0
    assert found(tmp_path / "--reward") == found(tmp_path / "--clicks")
    for given, words in (
        (("--clicks", "clicks"), "--impressions must say of how many"),
        (("--clicks", "clicks", "--reward", "age", *few), "only one of them"),
        ((), "neither --reward nor --clicks"),
    ):
        refused = command(counted, *given)
        assert refused.exit_code == 2
        assert words in refused.output


def test_rows_of_weight_zero_teach_nothing_and_of_one_are_as_they_were(tmp_path: Path) -> None:
    X, y = simulated(60)
    plain = written(tmp_path / "log.csv", X, y).read_text(encoding="utf-8").splitlines()
    few = ("--reward", "click", "--policy", "fabcost", "--policy", "laplace", "--policy", "greedy")
    outs = []
    for weight in (None, "1", "0", "0.25"):
        lines = plain if weight is None else [f"{row},{weight}" for row in plain]
        lines[0] = plain[0] if weight is None else f"{plain[0]},w"
        log, out = tmp_path / f"{weight}.csv", tmp_path / f"{weight}"
        log.write_text("\n".join(lines), encoding="utf-8")
        more = () if weight is None else ("--weight", "w")
        done = command(log, *few, *more, "--seeds", "2", "--jobs", "1", "--out", out)
        assert done.exit_code == 0, done.output
        outs.append(found(out)["policies"])
        assert "w" not in found(out)["columns"]
    assert outs[0] == outs[1]
    for name in ("fabcost", "laplace"):
        assert outs[2][name]["clicks"] != outs[1][name]["clicks"]
        assert outs[3][name]["clicks"] not in (outs[1][name]["clicks"], outs[2][name]["clicks"])
    # Greedy by what was never learnt takes them in the random order of ties, as does no learner.
    unlearnt = command(tmp_path / "1.csv", *few[:2], "--weight", "w", "--policy", "linear")
    assert unlearnt.exit_code == 2
    assert "policy linear learns every impression alike" in unlearnt.output


@pytest.mark.parametrize("weight", ["-1", "nan", "inf", "", "many", "2e9"])
def test_a_weight_that_is_none_is_named_by_its_row(tmp_path: Path, weight: str) -> None:
    log = tmp_path / "log.csv"
    log.write_text(f"age,click,w\n20,1,1\n30,0,{weight}\n40,0,2\n", encoding="utf-8")
    given = ("--reward", "click", "--weight", "w", "--policy", "adf", "--seeds", "1", "--jobs", "1")
    refused = command(log, *given)
    assert refused.exit_code == 2
    assert "row 2: w" in refused.output
    assert "must be a number from 0 to 1e+09" in refused.output
    assert command(log, *given, "--skip-bad-rows").exit_code == 0


def test_bad_rows_are_refused_or_counted(tmp_path: Path) -> None:
    log = written(tmp_path / "log.csv", *simulated(50))
    lines = log.read_text(encoding="utf-8").splitlines()
    lines[3] = lines[3].rsplit(",", 1)[0] + ",often"
    log.write_text("\n".join(lines), encoding="utf-8")
    options = ("--reward", "click", "--policy", "uniform", "--seeds", "2", "--jobs", "1")
    refused = command(log, *options, "--out", tmp_path / "out")
    assert refused.exit_code == 2
    assert "row 3: click is 'often' but must be an outcome" in refused.output
    assert not (tmp_path / "out").exists()
    skipped = command(log, *options, "--out", tmp_path / "out", "--skip-bad-rows")
    assert skipped.exit_code == 0, skipped.output
    assert "bad rows skipped: 1" in " ".join(skipped.output.split())
    assert (found(tmp_path / "out")["rows"], found(tmp_path / "out")["skipped"]["total"]) == (49, 1)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--reward", "height"), "has no column 'height'; it has a, b, c, click"),
        (("--drop", "height"), "has no column 'height'; it has a, b, c, click"),
        (("--policy", "magic"), "must be one of fabcost, fabcost-paper"),
        (("--against", "ep"), "against is 'ep' but the policies are"),
        (("--rounds", "51"), "rounds is 51 but there are 50 impressions"),
        (("--select", "4"), "select is 4 but there are 3 features"),
        (("--prior-variance", "0"), "prior variance of constant is 0.0"),
    ],
)
def test_wrong_settings_are_named(
    tmp_path: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    log = written(tmp_path / "log.csv", *simulated(50))
    result = command(log, "--reward", "click", *arguments, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert complaint in " ".join(result.output.split())
    assert not (tmp_path / "out").exists()


def test_log_of_one_outcome_is_replayed_and_said(tmp_path: Path) -> None:
    X, y = simulated(50)
    log = written(tmp_path / "log.csv", X, 0.0 * y)
    result = command(log, "--reward", "click", "--seeds", "1", "--jobs", "1", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "every outcome is 0" in result.output
    told = found(tmp_path)["policies"]["fabcost"]
    assert told["per_cent"]["mean"] == [None] * len(told["per_cent"]["mean"])


def assert_ends(group: int) -> None:
    """No process of the group is left, or will be in a moment."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("a process outlived the command")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_interrupt_ends_workers_and_writes_nothing(tmp_path: Path) -> None:
    log, out = written(tmp_path / "log.csv", *simulated(20_000)), tmp_path / "out"
    # A shell may have started the tests with Ctrl-C ignored, which children inherit.
    script = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    script += "from fabcost.__main__ import main; main()"
    options = ["--reward", "click", "--policy", "laplace", "--jobs", "2", "--out", str(out)]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    running = subprocess.Popen(
        [sys.executable, "-c", script, "replay", str(log), *options],
        env=environment,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("fabcost-*/marks.npy")) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(2)
    os.killpg(running.pid, signal.SIGINT)
    output, _ = running.communicate(timeout=60)
    assert running.returncode != 0
    assert b"Traceback" not in output
    assert not list(tmp_path.glob("fabcost-*"))
    assert not (out / "replay.json").exists()
    assert_ends(running.pid)


def test_a_half_life_is_that_of_the_learners_that_have_one(tmp_path: Path) -> None:
    log = written(tmp_path / "log.csv", *simulated())
    options = ("--reward", "click", "--seeds", "2", "--rounds", "200", "--jobs", "1")
    players = ("--policy", "adf", "--policy", "laplace")
    summaries = []
    for more in ((), ("--half-life", "5")):
        out = tmp_path / f"out-{len(more)}"
        result = command(log, *options, *players, *more, "--out", out)
        assert result.exit_code == 0, result.output
        summaries.append(found(out))
    without, forgetful = summaries
    assert (without["half_life"], forgetful["half_life"]) == (None, 5.0)
    clicks = [each["policies"] for each in summaries]
    assert clicks[0]["laplace"] == clicks[1]["laplace"]
    assert clicks[0]["adf"]["clicks"] != clicks[1]["adf"]["clicks"]
    assert command(log, *options, "--half-life", "0.5").exit_code == 2


def test_a_half_life_is_in_seconds_where_a_column_has_times(tmp_path: Path) -> None:
    """Of times a second apart, in whatever order rows are, it is that of as many impressions."""
    X, y = simulated()
    plain = written(tmp_path / "plain.csv", X, y)
    lines = plain.read_text(encoding="utf-8").splitlines()
    seconds = 86_400 + np.random.default_rng(1).permutation(y.size)
    days = [str(np.datetime64(int(each), "s")) for each in seconds]
    timed, bad = tmp_path / "timed.csv", tmp_path / "bad.csv"
    for path, column in ((timed, days), (bad, [*days[:-1], "noon"])):
        text = [f"{line},{at}" for line, at in zip(lines, ["at", *column], strict=True)]
        path.write_text("\n".join(text), encoding="utf-8")
    options = ("--reward", "click", "--policy", "adf", "--seeds", "2", "--rounds", "200")
    clicks = []
    for log, more in ((plain, ("50",)), (timed, ("50", "--time", "at")), (plain, ("20",))):
        out = tmp_path / "out"
        result = command(log, *options, "--jobs", "1", "--half-life", *more, "--out", out)
        assert result.exit_code == 0, result.output
        clicks.append(found(out)["policies"]["adf"]["clicks"])
    assert clicks[0] == clicks[1] != clicks[2]
    assert "must be a date" in command(bad, *options, "--half-life", "5", "--time", "at").output
    assert "--half-life must say" in command(timed, *options, "--time", "at").output
