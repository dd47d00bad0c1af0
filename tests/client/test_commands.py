"""`fabcost export-log` and `import-log` against a real server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from fabcost import cli
from fabcost.client import Client
from fabcost.service.settings import Settings
from fabcost.wire import formats
from fabcost.wire.formats import PART_BYTES
from fabcost.wire.settings import HalfLifeSettings, ModelSettings
from tests.service.http.serving import Running, running

ADVERTS = {"ad-1": {"make": "kia", "age": 3}, "ad-2": {"make": "ford", "age": 1}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("service")
    with running(Settings(database=str(folder / "bandit.db"))) as server:
        with Client(server.address) as client:
            client.create_model("news")
            for i in range(20):
                decision = client.decide("news", context={"hour": i}, candidates=ADVERTS)
                client.feedback("news", decision.decision_id, float(i % 3 == 0))
        yield server


def run(server: Running | None, *arguments: str) -> Result:
    url = "http://127.0.0.1:9" if server is None else server.address
    return CliRunner().invoke(cli.application, arguments, env={"FABCOST_URL": url})


@pytest.mark.parametrize("form", ["jsonl", "parquet", "dsjson"])
def test_a_log_goes_to_a_file_and_into_another_model(
    server: Running, form: str, tmp_path: Path
) -> None:
    path = tmp_path / f"log.{form}"
    done = run(server, "export-log", "news", "--out", str(path))
    assert done.exit_code == 0, done.output
    assert f"{path.stat().st_size:,} bytes" in done.output
    assert list(tmp_path.iterdir()) == [path]
    with Client(server.address) as client:
        client.create_model(f"from-{form}")
        for new in (20, 0):
            done = run(server, "import-log", f"from-{form}", str(path))
            assert done.exit_code == 0, done.output
            assert f"20 decisions, {new} of them new to from-{form}" in done.output
        assert client.posterior(f"from-{form}").impressions == 20


def test_a_model_is_made_from_what_another_or_a_file_has_learnt(
    server: Running, tmp_path: Path
) -> None:
    with Client(server.address) as client:
        (tmp_path / "news.fabcost").write_bytes(client.export_model("news"))
        weights = client.model("news").weights
    for name, more in (
        ("of-model", ["--start", "news", "--discount", "0.5"]),
        ("of-file", ["--file", str(tmp_path / "news.fabcost")]),
    ):
        done = run(server, "create-model", name, *more)
        assert done.exit_code == 0, done.output
        assert f"{name}: {weights} weights" in done.output
    done = run(server, "create-model", "plain")
    assert "plain: 1 weights" in done.output
    done = run(server, "create-model", "both", "--start", "news", "--file", __file__)
    assert done.exit_code != 0


def test_a_wide_belief_is_chosen_by_its_name(server: Running) -> None:
    wide = 'belief={"kind": "wide", "bits": 12}'
    done = run(server, "create-model", "wide", "--set", wide)
    assert "wide: 4096 weights" in done.output
    for wrong, words in (
        (['belief={"kind": "narrow"}'], "narrow"),
        (['belief={"kind": "wide", "bits": 40}'], "bits"),
        ([wide, "--start", "news"], "starts from a wide one"),
    ):
        done = run(server, "create-model", "refused", "--set", *wrong)
        assert done.exit_code == 2
        assert words in done.output


def test_a_model_is_made_with_settings(server: Running) -> None:
    half_life = 'half_life={"length": 50}'
    given = ("--set", "values=fraction", "--set", "largest_value=5", "--set", half_life)
    assert run(server, "create-model", "stars", *given).exit_code == 0
    with Client(server.address) as client:
        settings = client.model("stars").settings
        assert (settings.values, settings.largest_value) == ("fraction", 5.0)
        assert settings.half_life == HalfLifeSettings(50.0)
    for wrong, words in (
        (["--set", "values"], "must be NAME=VALUE"),
        (["--set", "values=stars"], "stars"),
        (["--set", "seed=1", "--file", __file__], "only one of them"),
    ):
        done = run(server, "create-model", "wrong", *wrong)
        assert done.exit_code == 2
        assert words in done.output


@pytest.mark.parametrize("form", ["jsonl", "parquet", "dsjson"])
def test_values_go_with_a_log_and_into_an_evaluation(
    server: Running, form: str, tmp_path: Path
) -> None:
    """Of 40 decisions among two; each of the log's formats has what another model learns."""
    settings = ModelSettings(values="fraction", floor=0.5)
    path = tmp_path / f"log.{form}"
    with Client(server.address) as client:
        client.create_model(f"videos-{form}", settings)
        client.create_model(f"again-{form}", settings)
        for i in range(40):
            decision = client.decide(f"videos-{form}", candidates=ADVERTS, decision_id=f"d{i}")
            client.feedback(f"videos-{form}", decision.decision_id, i / 64)
        assert run(server, "export-log", f"videos-{form}", "--out", str(path)).exit_code == 0
        assert run(server, "import-log", f"again-{form}", str(path)).exit_code == 0
        there, again = (client.posterior(f"{name}-{form}") for name in ("videos", "again"))
        stats = client.stats(f"again-{form}")
    assert again.digest == there.digest
    assert sum(each.rewards for each in stats.buckets) == sum(range(40)) / 64
    if form == "parquet":
        rewards = pq.read_table(path).column("reward").to_pylist()
        assert rewards == [i / 64 for i in range(40)]
        out = ("--policy", "uniform", "--policy", "thompson", "--out", str(tmp_path / "out"))
        done = CliRunner().invoke(cli.application, ["evaluate", str(path), *out])
        assert done.exit_code == 0, done.output
        found = json.loads((tmp_path / "out" / "evaluation.json").read_text(encoding="utf-8"))
        assert found["click_rate"]["value"] == pytest.approx(sum(range(40)) / 64 / 40)


def test_the_format_can_be_said(server: Running, tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    done = run(server, "export-log", "news", "--format", "dsjson", "--out", str(path))
    assert done.exit_code == 0, done.output
    assert path.read_bytes().startswith(b'{"_label_cost"')
    done = run(server, "export-log", "news", "--out", str(tmp_path / "other.txt"))
    assert done.exit_code == 2
    assert "the ending of other.txt is 'txt' but must be one of jsonl, parquet" in done.output


def test_a_file_is_not_overwritten_by_mistake(server: Running, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("precious")
    done = run(server, "export-log", "news", "--out", str(path))
    assert done.exit_code == 2
    assert path.read_text() == "precious"
    assert run(server, "export-log", "news", "--out", str(path), "--force").exit_code == 0
    assert path.read_text() != "precious"


def test_a_failed_export_leaves_no_file(server: Running, tmp_path: Path) -> None:
    done = run(server, "export-log", "nowhere", "--out", str(tmp_path / "log.jsonl"))
    assert done.exit_code == 2
    assert "there is no model 'nowhere'" in done.output
    assert "Traceback" not in done.output
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_sent_if_a_line_is_wrong(server: Running, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    good = '{"item":"a","candidates":{"a":{"age":1}},"value":1}\n'
    path.write_text(good * 3 + "{}\n")
    with Client(server.address) as client:
        client.create_model("untouched")
        done = run(server, "import-log", "untouched", str(path))
        assert done.exit_code == 2
        assert "line 4: 'candidates' is missing" in done.output
        assert client.model("untouched").impressions == 0


def test_a_missing_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['httpx'] = None\n"
        "sys.argv = ['fabcost', 'export-log', 'news', '--out', 'log.jsonl']\n"
        "from fabcost.__main__ import main\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "(httpx is missing): pip install 'fabcost[service]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_the_schema_refuses_is_told(server: Running, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    line = '{"item":"a","candidates":{"a":{"age":%s}},"value":1}\n'
    path.write_text(line % "1" + line % '"old"')
    with Client(server.address) as client:
        client.create_model("strict")
        done = run(server, "import-log", "strict", str(path))
    assert done.exit_code == 2
    assert "line 2: item 'a': item feature 'age' is 'old' but must be a number" in done.output


def test_every_line_of_a_file_without_ids_is_learnt_once(server: Running, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    line = '{"item":"a","candidates":{"a":{"text":"%s"}},"value":1}\n' % ("x" * 900)
    path.write_text(line * 5)
    with Client(server.address) as client:
        client.create_model("grown")
        assert "5 decisions, 5 of them new" in run(server, "import-log", "grown", str(path)).output
        path.write_text(line * 4_600)
        assert path.stat().st_size > 2 * PART_BYTES - len(line)
        for new in ("4,595", "0"):
            done = run(server, "import-log", "grown", str(path))
            assert f"4,600 decisions, {new} of them new" in done.output
        assert client.model("grown").impressions == 4_600


def test_a_file_that_grows_while_it_is_sent_is_told(
    server: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.jsonl"
    line = '{"item":"a","candidates":{"a":{"text":"%s"}},"value":1}\n' % ("x" * 900)
    path.write_text(line)

    def grown(*_: object, **__: object) -> int:
        path.write_text(line * 2_400)
        return 1

    monkeypatch.setattr(Client, "import_log", grown)
    monkeypatch.setattr(formats, "PART_BYTES", 1)
    done = run(server, "import-log", "news", str(path))
    assert done.exit_code == 2
    assert "log.jsonl has grown since it was checked: import it again" in done.output
