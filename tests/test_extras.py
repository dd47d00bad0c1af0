"""Whatever extra is missing is told in a sentence, all at once, with what to type."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import fabcost
from fabcost import extras

ROOT = Path(__file__).resolve().parents[1]
#: What is installed with only one extra, or with none, as far as the command line sees.
ONLY = {
    "none": {name for names in extras.PACKAGES.values() for name in names},
    "service": {"matplotlib", "arviz", "nutpie", "dask", "distributed"},
    "reports": {*extras.PACKAGES["service"]} - {*extras.PACKAGES["reports"]} | {"arviz", "nutpie"},
}
BLOCK = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
"""


def run(blocked: set[str], code: str) -> subprocess.CompletedProcess[str]:
    whole = BLOCK.format(names=sorted(blocked)) + code
    return subprocess.run(
        [sys.executable, "-c", whole], capture_output=True, text=True, check=False, cwd=ROOT
    )


def command(blocked: set[str], *words: str) -> subprocess.CompletedProcess[str]:
    code = f"sys.argv = {['fabcost', *words]!r}\nfrom fabcost.__main__ import main; main()"
    return run(blocked, code)


LOG = str(ROOT / "README.md")  # any file that is there


@pytest.mark.parametrize(
    ("only", "words", "named"),
    [
        ("none", ("serve",), "fabcost serve needs the extra 'service' (httptools, httpx, "),
        ("none", ("tour",), "fabcost tour needs the extras 'nuts' and 'reports' (arviz, nutpie, "),
        ("none", (), "the fabcost command needs the extra 'reports' (matplotlib, pyarrow, "),
        ("service", ("replay", LOG, "--reward", "y"), "(matplotlib is missing)"),
        ("service", ("evaluate", LOG), "(matplotlib is missing)"),
        ("service", ("tour",), "(arviz, nutpie, matplotlib are missing)"),
        ("reports", ("serve",), "needs the extra 'service' (httptools, httpx, msgspec, "),
        ("reports", ("demo",), "needs the extra 'service' (httptools, httpx, msgspec, "),
    ],
)
def test_a_command_says_all_that_it_lacks(only: str, words: tuple[str, ...], named: str) -> None:
    done = command(ONLY[only], *words)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    (line,) = done.stderr.splitlines()
    assert named in line
    assert "pip install 'fabcost[" in line
    assert "(in a clone: pip install '.[" in line


def test_the_version_needs_no_extra() -> None:
    done = command(ONLY["none"], "--version")
    assert (done.returncode, done.stdout) == (0, f"{fabcost.__version__}\n"), done.stderr


def test_a_client_says_what_it_lacks() -> None:
    done = run(ONLY["none"], "from fabcost.client import Client")
    assert done.stderr.splitlines()[-1].startswith(
        "fabcost.extras.MissingExtraError: fabcost.client needs the extra 'service' (httptools, "
    )


def test_plots_and_draws_say_what_they_lack() -> None:
    learner = "import fabcost; l = fabcost.FabCost(fabcost.Gaussian.isotropic(1)); "
    calls = "\nfor call in (fabcost.plot_weights, fabcost.to_arviz):\n try:\n  call(l)\n"
    done = run(ONLY["none"], f"{learner}{calls} except ImportError as error:\n  print(error)")
    assert done.returncode == 0, done.stderr
    plot, draws = done.stdout.splitlines()
    assert plot.startswith("a plot needs the extra 'reports' (matplotlib, ")
    assert draws.startswith("to_arviz needs the extra 'nuts' (arviz, nutpie are missing): pip ")


def test_packages_are_those_of_the_project() -> None:
    written = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for extra, names in extras.PACKAGES.items():
        declared = " ".join(written["optional-dependencies"][extra])
        for name in names:
            assert name.replace("_", "-") in declared, (extra, name)
