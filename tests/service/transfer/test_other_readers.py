"""Exports of a real service, read by programs that are not the service."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from fabcost.cli import application
from fabcost.service.service import Service
from fabcost.wire import dsjson
from fabcost.wire.settings import ModelSettings
from tests.service.transfer.playing import exported, play, served


def test_vowpal_wabbit_reads_every_line(tmp_path: Path) -> None:
    vowpalwabbit = pytest.importorskip("vowpalwabbit", reason="the extra bench is not installed")
    body = b""

    async def work(service: Service) -> None:
        nonlocal body
        await service.create_model("here", ModelSettings(floor=0.2))
        await play(service, "here", 40)
        body = await exported(service, "here", "dsjson")

    served(tmp_path, work)
    workspace = vowpalwabbit.Workspace("--dsjson --cb_explore_adf -q ci --quiet")
    for (_, line), text in zip(dsjson.read(body), body.splitlines(), strict=True):
        shared, *actions = workspace.parse(text.decode())
        place = list(line.candidates).index(line.item)
        assert [each.get_tag() for each in actions] == list(line.candidates)
        assert [each.get_cbandits_num_costs() for each in actions].index(1) == place
        assert line.value is not None
        assert line.propensities is not None
        assert actions[place].get_cbandits_cost(0) == -line.value
        share = actions[place].get_cbandits_probability(0)
        assert share == pytest.approx(line.propensities[place], rel=1e-6)
        workspace.learn([shared, *actions])
        workspace.finish_example([shared, *actions])
    assert workspace.get_weighted_examples() == 40
    assert np.isfinite(workspace.get_sum_loss())
    workspace.finish()


def test_evaluate_reads_the_parquet(tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"

    async def work(service: Service) -> None:
        await service.create_model("here", ModelSettings(floor=0.5))
        await play(service, "here", 120)
        log.write_bytes(await exported(service, "here", "parquet"))

    served(tmp_path, work)
    columns = ["--reward", "reward", "--propensity", "propensity", "--action", "action"]
    out = ["--out", str(tmp_path / "evaluation"), "--policy", "uniform", "--estimator", "snips"]
    done = CliRunner().invoke(application, ["evaluate", str(log), *columns, *out])
    assert done.exit_code == 0, done.output
    table = pq.read_table(io.BytesIO(log.read_bytes()))
    assert table.num_rows == 120
    clicks = sum(row["reward"] for row in table.to_pylist())
    assert clicks == sum(row["label"] > 0 for row in table.to_pylist())
    shares = [row["propensity"] for row in table.to_pylist()]
    assert min(shares) >= 0.5 / 3
