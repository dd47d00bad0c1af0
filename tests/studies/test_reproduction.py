"""The documentation's copy of a run says what its results say, and nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from studies import reproduction

from fabcost.paper.reproduction import PARTS

ROOT = Path(__file__).resolve().parents[2]
PNG = b"\x89PNG of "


@pytest.fixture(scope="module")
def content() -> dict[str, Any]:
    kept: dict[str, Any] = json.loads((ROOT / reproduction.RESULTS).read_text(encoding="utf-8"))
    return kept


def finished(place: Path, content: dict[str, Any]) -> Path:
    """A directory as `fabcost reproduce` leaves it."""
    (place / "figures").mkdir(parents=True)
    (place / "results.json").write_text(json.dumps({**content, "units": {}}), encoding="utf-8")
    for name in reproduction.SHOWN:
        (place / "figures" / f"{name}.png").write_bytes(PNG + name.encode())
    return place


def checkout(place: Path) -> Path:
    place.mkdir()
    (place / "README.md").write_text(
        f"# It\n\n{reproduction.BEGIN}\nold\n{reproduction.END}\n\nEnd.\n", encoding="utf-8"
    )
    return place


def files(place: Path) -> dict[str, bytes]:
    found = (path for path in place.rglob("*") if path.is_file())
    return {str(path.relative_to(place)): path.read_bytes() for path in found}


def test_the_page_is_up_to_date(content: dict[str, Any]) -> None:
    assert (ROOT / reproduction.PAGE).read_text(encoding="utf-8") == reproduction.page(content)


def test_the_readme_is_up_to_date_and_short(content: dict[str, Any]) -> None:
    readme = (ROOT / reproduction.README).read_text(encoding="utf-8")
    assert reproduction.put(readme, reproduction.block(content)) == readme
    assert len(readme.splitlines()) < 150


def test_the_results_are_small_and_say_where_they_come_from(content: dict[str, Any]) -> None:
    assert (ROOT / reproduction.RESULTS).stat().st_size < 200_000
    page, block = reproduction.page(content), reproduction.block(content)
    for name in ("Scale", "Seed", "Commit", "Finished"):
        value = content["settings"][name]
        assert value
        assert value in page
        assert value in block
    for name in ("Machine", "Computing time"):
        assert reproduction.escape(content["settings"][name]) in page
    assert set(content["parts"]) == {"convergence", "bandits"}


def test_the_figures_are_there(content: dict[str, Any]) -> None:
    texts = {"docs/measurements": reproduction.page(content), "": reproduction.block(content)}
    for name in reproduction.SHOWN:
        path = ROOT / reproduction.IMAGES / f"reproduction-{name}.png"
        assert path.read_bytes().startswith(b"\x89PNG")
        for place, text in texts.items():
            assert f"({os.path.relpath(path, ROOT / place)})" in text


def test_main_claims_are_of_every_part_and_fit_a_cell(content: dict[str, Any]) -> None:
    claims = reproduction.read_claims(content)
    shown = [claim for claim in claims if claim.main]
    assert 2 * len(PARTS) <= len(shown) <= 10
    assert max(len(claim.measured) for claim in claims) <= 250
    rows = [line for line in reproduction.block(content).splitlines() if line.startswith("| ")]
    assert len(rows) == len(shown) + 2
    assert all(row.count(" | ") == 3 for row in rows)


def test_a_run_is_taken_over(content: dict[str, Any], tmp_path: Path) -> None:
    run, root = finished(tmp_path / "run", content), checkout(tmp_path / "root")
    reproduction.take(run, root, memory="1.5 GB")
    reproduction.write(root)
    written = files(root)
    assert set(written) == {
        "README.md",
        "docs/measurements/reproduction.md",
        "docs/measurements/reproduction/results.json",
        *(f"docs/images/reproduction-{name}.png" for name in reproduction.SHOWN),
    }
    assert written["docs/images/reproduction-clicks.png"] == PNG + b"clicks"
    kept = json.loads(written["docs/measurements/reproduction/results.json"])
    assert kept["claims"] == content["claims"]
    assert kept["settings"]["Peak memory"] == "1.5 GB"
    assert "| Peak memory | 1.5\xa0GB |" in written["docs/measurements/reproduction.md"].decode()
    readme = written["README.md"].decode()
    assert readme.startswith("# It\n\n<!-- reproduction -->\n![")
    assert readme.endswith("<!-- /reproduction -->\n\nEnd.\n")
    reproduction.write(root)
    assert files(root) == written


def test_other_numbers_give_another_page(content: dict[str, Any]) -> None:
    other = json.loads(json.dumps(content))
    other["claims"][0]["measured"] = "-12.5 % of <a|b>"
    other["scale"]["name"] = "paper"
    page = reproduction.page(other)
    assert "−12.5\xa0% of \\<a\\|b>" in page
    assert "smaller than the paper's" not in page
    other["scale"]["name"] = "quick"
    assert "smaller than the paper's" in reproduction.page(other)


@pytest.mark.parametrize("lost", ["figure", "settings", "marks"])
def test_what_is_not_whole_is_refused(
    content: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    lost: str,
) -> None:
    run, root = finished(tmp_path / "run", content), checkout(tmp_path / "root")
    if lost == "figure":
        (run / "figures" / "clicks.png").unlink()
    elif lost == "settings":
        older = {name: each for name, each in content.items() if name != "settings"}
        (run / "results.json").write_text(json.dumps(older), encoding="utf-8")
    else:
        (root / "README.md").write_text("# It\n", encoding="utf-8")
    before = files(root)
    monkeypatch.chdir(root)
    with pytest.raises(SystemExit) as ended:
        reproduction.main([str(run)])
    assert ended.value.code == 2
    complaint = {
        "figure": "clicks.png",
        "settings": "has no settings: it was written by another version",
        "marks": "the README must have <!-- reproduction -->",
    }
    assert complaint[lost] in capsys.readouterr().err
    assert files(root)["README.md"] == before["README.md"]
    if lost != "marks":
        assert files(root) == before


def test_thinned_curves_belong_together() -> None:
    marks = np.arange(1, 1001)
    kept = reproduction.thinned({"marks": marks.tolist(), "clicks": [(2.0 * marks).tolist()] * 3})
    assert kept["marks"][-1] == 1000
    for clicks in kept["clicks"]:
        np.testing.assert_array_equal(clicks, 2.0 * np.array(kept["marks"]))
    assert reproduction.thinned(kept) == kept
