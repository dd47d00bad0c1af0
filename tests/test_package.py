from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_group
from typer.testing import CliRunner

import fabcost
from fabcost.bandit.rules import SPELT
from fabcost.cli import application
from fabcost.offline.methods import THOMPSON, UNSCALED

ROOT = Path(__file__).resolve().parents[1]
HEAVY = ("sklearn", "matplotlib", "nutpie", "arviz", "pandas", "rich", "typer", "httpx", "msgspec")
KERNELS = ("numba", "numpy", "scipy")


def run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return done.stdout


def loaded_by(code: str) -> set[str]:
    """The packages that are there after some code."""
    names = run("-c", f"import sys; {code}; print(*sys.modules)").split()
    return {name.split(".")[0] for name in names}


def test_import_stays_light() -> None:
    assert not loaded_by("import fabcost") & {*HEAVY, *KERNELS}
    every = ", ".join(set(fabcost.__all__) - {"BayesianLogisticRegression"})
    assert not loaded_by(f"from fabcost import {every}") & set(HEAVY)


def test_commands_are_light() -> None:
    assert not loaded_by("import fabcost.cli") & set(KERNELS)


def test_every_public_name_can_be_had() -> None:
    for name in fabcost.__all__:
        assert getattr(fabcost, name).__module__.startswith("fabcost."), name
    assert set(fabcost.__all__) <= set(dir(fabcost))
    assert fabcost.kernels.__name__ == "fabcost.kernels"
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = fabcost.nonsense


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_example_runs(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In this process, which has everything imported."""
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()


def test_demo_writes_a_table_and_a_picture(tmp_path: Path) -> None:
    result = CliRunner().invoke(application, ["tour", "--out", str(tmp_path), "--draws", "100"])
    assert result.exit_code == 0, result.output
    assert "Laplace / EP" in result.output
    assert (tmp_path / "accuracy.png").read_bytes().startswith(b"\x89PNG")


def test_version() -> None:
    assert run("-m", "fabcost", "version").strip() == fabcost.__version__
    assert CliRunner().invoke(application, ["--version"]).output.strip() == fabcost.__version__


def helped(*command: str) -> str:
    """The help of a command as a narrow terminal shows it."""
    narrow = {"COLUMNS": "80", "TERMINAL_WIDTH": None}
    return CliRunner().invoke(application, [*command, "--help"], env=narrow).output


def test_help_names_all_policies() -> None:
    shown = {name: helped(name) for name in ("replay", "evaluate")}
    for name in (*THOMPSON, *UNSCALED):
        assert f"{name}," in shown["replay"] or f"{name};" in shown["replay"], name
    for name in SPELT:
        assert name in shown["evaluate"], name
    assert all(".zip" in each for each in shown.values())


def options(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], set[str]]]:
    """Every command with the names of its options, those of groups too."""
    yield path, {name for each in group.params for name in (*each.opts, *each.secondary_opts)}
    for name, command in getattr(group, "commands", {}).items():
        yield from options(command, (*path, name))


def test_help_is_whole_on_a_narrow_terminal() -> None:
    found = dict(options(get_group(application)))
    assert ("keys", "add") in found
    for command, names in found.items():
        shown = helped(*command)
        assert "…" not in shown, (command, shown)
        assert max(map(len, shown.splitlines())) <= 80
        whole = set(re.findall(r"--[\w-]+", shown))
        assert {each for each in names if each.startswith("--")} <= whole, command


def run_without(module: str) -> subprocess.CompletedProcess[str]:
    code = f"import sys; sys.modules[{module!r}] = None\nfrom fabcost.__main__ import main; main()"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_missing_extra_is_named(missing: str) -> None:
    done = run_without(missing)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert f"({missing} is missing): pip install 'fabcost[reports]'" in done.stderr


def test_what_no_extra_has_is_not_called_one() -> None:
    done = run_without("fabcost.cli")
    assert "fabcost[reports]" not in done.stderr
    assert "ModuleNotFoundError" in done.stderr


def test_every_command_is_documented() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    group = get_group(application)
    assert len(group.commands) > 10
    for name in group.commands:
        assert f"fabcost {name}" in readme
