"""The wheel, built and checked, in environments that have nothing but it and what it asks for."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import distribution, distributions
from pathlib import Path
from typing import IO

import httpx
import pytest
from packaging.requirements import Requirement

import fabcost
from fabcost import kernels

ROOT = Path(__file__).resolve().parents[1]
BARE = """
import fabcost
schema = fabcost.Schema.open()
items = schema.encode_items({"tea": {"price": 4.5, "kind": "green"}})
print(fabcost.__version__, schema.rows({"device": "phone"}, items).shape[0])
rec = fabcost.Recommender(schema)
made = rec.recommend({"device": "phone"}, {"tea": {"price": 4.5, "kind": "green"}})
rec.feedback(made.id, clicked=True)
print(made.item, rec.learner.seen)
"""

DECIDING = """
import sys
from fabcost.client import Client
with Client(sys.argv[1]) as client:
    client.wait_until_ready(120)
    client.create_model("shop")
    decision = client.decide("shop", context={"device": "tv"}, candidates={"tea": {"price": 4.5}})
    told = client.feedback("shop", decision.decision_id)
    print(decision.item, told.status, client.stats("shop").impressions)
"""


#: Kernels are found beside their sources, wherever those of the tests are.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}


def run(*command: str | Path, **more: object) -> subprocess.CompletedProcess[str]:
    told = {"capture_output": True, "text": True, "env": ENVIRONMENT, **more}
    return subprocess.run(command, check=False, **told)  # type: ignore[call-overload,no-any-return]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", folder)
    built = run(sys.executable, "-m", "pip", "wheel", *options, ROOT)
    assert built.returncode == 0, built.stdout + built.stderr
    (found,) = folder.glob("*.whl")
    return found


def test_it_is_installed_as_pages_say(wheel: Path, tmp_path: Path) -> None:
    written = re.compile(r"^ *pip install '([^'@]*)'$", re.MULTILINE)
    pages = (page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))
    wanted = {each for page in pages for each in written.findall(page)}
    assert len(wanted) >= 4
    alone = ("--no-index", "--no-deps", "--find-links", wheel.parent, "--target", tmp_path)
    done = run(sys.executable, "-m", "pip", "install", *alone, *wanted)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = distributions(name="fabcost", path=[str(tmp_path)])
    extras = set(made.metadata.get_all("Provides-Extra") or ())
    # Of an extra that there is not, pip says nothing here.
    assert all(Requirement(each).extras <= extras for each in wanted)


def needed(name: str, *extras: str) -> set[str]:
    """The distributions that one asks for with some extras, and those that they ask for."""
    found: set[str] = set()
    for text in distribution(name).requires or ():
        asked = Requirement(text)
        wanted = asked.marker is None or any(
            asked.marker.evaluate({"extra": extra}) for extra in ("", *extras)
        )
        if wanted and asked.name not in found:
            found |= {asked.name, *needed(asked.name, *asked.extras)}
    return found


def environment(folder: Path, wheel: Path, *extras: str) -> Path:
    """Where programs are of an environment with the wheel, and links to what it needs."""
    made = run(sys.executable, "-m", "venv", "--without-pip", folder)
    assert made.returncode == 0, made.stderr
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in needed("fabcost", *extras):
        files = distribution(name).files or ()
        for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            if not (packages / top).exists():
                (packages / top).symlink_to(str(distribution(name).locate_file(top)))
    programs = folder / "bin"
    options = ("--no-deps", "--no-index", "--quiet", wheel)
    python = ("--python", programs / "python")
    put = run(sys.executable, "-m", "pip", *python, "install", *options)
    assert put.returncode == 0, put.stderr
    return programs


def test_the_package_index_would_take_it(wheel: Path, tmp_path: Path) -> None:
    options = ("-t", "sdist", "-d", tmp_path)
    built = run(sys.executable, "-m", "hatchling", "build", *options, cwd=ROOT)
    assert built.returncode == 0, built.stderr
    (sources,) = tmp_path.glob("*.tar.gz")
    checked = run(sys.executable, "-m", "twine", "check", "--strict", wheel, sources)
    assert checked.returncode == 0, checked.stdout
    assert checked.stdout.count("PASSED") == 2
    check_sources(sources, wheel)


def check_sources(sources: Path, wheel: Path) -> None:
    """They hold all of the wheel, and what their tests read."""
    with tarfile.open(sources) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    with zipfile.ZipFile(wheel) as archive:
        installed = {f"src/{name}" for name in archive.namelist() if ".dist-info/" not in name}
    assert installed == {name for name in held if name.startswith("src/")}
    named = {
        name
        for test in (ROOT / "tests").rglob("*.py")
        for name in re.findall(r'ROOT / "([\w.-]+)"', test.read_text(encoding="utf-8"))
    }
    tops = {name.partition("/")[0] for name in held}
    assert {name for name in named if (ROOT / name).exists()} <= tops


def test_it_works_alone_and_says_what_more_it_needs(wheel: Path, tmp_path: Path) -> None:
    programs = environment(tmp_path / "bare", wheel)
    lend_kernels(programs)
    used = run(programs / "python", "-c", BARE, cwd=tmp_path)
    assert used.stdout.split() == [fabcost.__version__, "1", "tea", "1"], used.stderr
    for command, extra in (("serve", "service"), ("replay", "reports"), ("tour", "nuts")):
        told = run(programs / "fabcost", command, cwd=tmp_path)
        assert told.returncode == 2
        (line,) = told.stderr.splitlines()
        assert line.startswith(f"fabcost {command} needs the extra")
        assert f"pip install 'fabcost[{extra}" in line


def lend_kernels(programs: Path) -> None:
    """What tests compiled of the same sources, which the wheel would compile for minutes."""
    (theirs,) = programs.parent.glob("lib/python*/site-packages/fabcost/kernels")
    ours = Path(fabcost.__file__).parent / "kernels"
    for source in ours.glob("*.py"):
        assert (theirs / source.name).read_bytes() == source.read_bytes()
        os.utime(theirs / source.name, ns=(source.stat().st_mtime_ns,) * 2)
    compiled = kernels.first_largest.stats.cache_path
    shutil.copytree(compiled, theirs / "__pycache__", dirs_exist_ok=True)


@contextmanager
def served(programs: Path, **environment: str) -> Iterator[tuple[str, IO[str]]]:
    """The address of a server while it loads, and what it says."""
    command = [str(programs / "fabcost"), "serve", "--port", "0", "--log-level", "info"]
    given = {"env": {**ENVIRONMENT, **environment}, "cwd": programs.parent, "text": True}
    with subprocess.Popen(command, stderr=subprocess.PIPE, **given) as server:  # type: ignore[call-overload]
        try:
            line = next(line for line in server.stderr if '"loading"' in line)
            yield line.split('"address":"')[1].split('"')[0], server.stderr
        finally:
            server.send_signal(signal.SIGTERM)
            server.stderr.read()
        assert server.wait(120) == 0


@pytest.mark.skipif(shutil.which("bash") is None, reason="signals are POSIX's")
def test_a_server_decides_and_learns(wheel: Path, tmp_path: Path) -> None:
    programs = environment(tmp_path / "service", wheel, "service")
    told = run(programs / "fabcost", "--version", cwd=tmp_path)
    assert told.stdout.strip() == fabcost.__version__, told.stderr
    lacking = run(programs / "fabcost", "replay", wheel, "--reward", "click", cwd=tmp_path)
    assert "needs the extra 'reports' (matplotlib is missing)" in lacking.stderr
    with served(programs, NUMBA_CACHE_DIR=str(tmp_path / "cold")) as (address, said):
        assert httpx.get(f"{address}/healthz", timeout=60).json() == {"status": "ok"}
        told_of = next(line for line in said if "compiling its numerical" in line)
        assert re.search(r": \d+ of at most \d{2,3}, \d+ s", told_of)
        not_yet = httpx.get(f"{address}/v1/models", timeout=60)
        assert "compiling its numerical kernels" in not_yet.json()["error"]["message"]
    lend_kernels(programs)
    with served(programs) as (address, _):
        done = run(programs / "python", "-c", DECIDING, address, cwd=tmp_path)
        assert done.stdout.split() == ["tea", "applied", "1"], done.stderr
