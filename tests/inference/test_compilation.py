"""Compiled kernels on the disk that are spoilt: they are compiled anew."""

from __future__ import annotations

import ast
import gc
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numba
import pytest
from numba.core import event

import fabcost
from fabcost import compilation, kernels

HOME = Path(fabcost.__file__).parent

SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda content: content[: len(content) // 2],
    "cut short": lambda content: content[:-1],
    "empty": lambda _: b"",
    "garbage": lambda content: b"\xa7" * len(content),
    "other": lambda _: b"a letter to a friend",
}


def doubled(x: float) -> float:
    return 2.0 * x


#: Whichever module holds the kernels.
doubled.__module__ = f"{fabcost.__name__}.somewhere.kernels"


def use() -> object:
    """Compile it, or read it from the disk, as another process would; how often it was read."""
    kernel = numba.njit(cache=True)(doubled)
    assert kernel(21.0) == 42.0
    return sum(kernel.stats.cache_hits.values())


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("how", SPOILT)
@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_a_spoilt_file_is_written_again(
    cache: Path, kind: str, how: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert use() == 0
    assert use() == 1
    (file,) = cache.rglob(f"*.{kind}")
    file.write_bytes(SPOILT[how](file.read_bytes()))
    capfd.readouterr()
    assert use() == 0
    said = capfd.readouterr().err
    assert "the compiled doubled cannot be read and is made again" in said
    assert str(cache) in said
    assert use() == 1
    assert capfd.readouterr().err == ""


class Observer(event.Listener):
    """Whether garbage is collected when a compilation begins and when it ends."""

    def __init__(self) -> None:
        self.collects: dict[str, bool] = {}

    def on_start(self, event: event.Event) -> None:
        self.collects[event.status.name] = gc.isenabled()

    on_end = on_start


@pytest.mark.parametrize("collects", [True, False])
def test_no_garbage_is_collected_meanwhile(
    cache: Path, monkeypatch: pytest.MonkeyPatch, collects: bool
) -> None:
    monkeypatch.setattr(doubled, "__module__", f"{kernels.__name__}.somewhere")
    (gc.enable if collects else gc.disable)()
    try:
        # Ours was there before it, and is told before it.
        with event.install_listener("numba:compile", Observer()) as observer:
            use()
        assert observer.collects == {"START": False, "END": collects}
        assert gc.isenabled() == collects
    finally:
        gc.enable()


def test_the_cache_of_others_is_left_to_them(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doubled, "__module__", "fabcosted.kernels")
    use()
    (file,) = cache.rglob("*.nbi")
    file.write_bytes(b"")
    with pytest.raises(EOFError):
        use()


def test_the_library_works_with_a_spoilt_cache(tmp_path: Path) -> None:
    code = (
        "import numpy as np; from fabcost import kernels\n"
        "root, _ = kernels.cholesky(np.eye(2)); kernels.is_lower(root); kernels.squares(root)\n"
    )
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PATH": ""}

    def run() -> str:
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stderr

    run()
    files = sorted(tmp_path.rglob("*.nb?"))
    assert len(files) >= len(SPOILT)
    for place, file in enumerate(files):
        file.write_bytes(list(SPOILT.values())[place % len(SPOILT)](file.read_bytes()))
    assert "is made again" in run()
    assert run() == ""


def test_a_kernel_is_compiled_anew_when_a_helper_of_another_file_changes(tmp_path: Path) -> None:
    """Numba looks at the kernel's own file alone."""
    package = tmp_path / "src" / "fabcost"
    shutil.copytree(Path(kernels.__file__).parent, package / "kernels")
    shutil.copy2(compilation.__file__, package)
    (package / "__init__.py").touch()  # ours would import what is not there

    def centre() -> float:
        code = (
            "import numpy as np\n"
            "from fabcost.kernels.beliefs import NO_ITEMS, absorb\n"
            "mean, root = np.zeros(1), np.eye(1, 8)\n"
            "absorb(mean, root, np.ones((1, 1)), np.ones(1), np.ones(1), 0, 1, *NO_ITEMS)\n"
            "print(mean[0])"
        )
        variables = {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        ran = subprocess.run(
            [sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True
        )
        return float(ran.stdout)

    assert centre() == 0.5
    helper = package / "kernels" / "products.py"
    source = helper.read_text(encoding="utf-8")
    helper.write_text(source.replace("total(first + second)", "0.0"), encoding="utf-8")
    assert centre() == 1.0


def test_what_python_calls_has_an_entrance_for_it() -> None:
    """To call one without ends the process."""
    outside = [path for path in HOME.rglob("*.py") if path.parent.name != "kernels"]
    called = {
        node.attr
        for path in outside
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "kernels"
    }
    options = {name: getattr(getattr(kernels, name), "targetoptions", {}) for name in called}
    assert len(options) > 50
    assert [name for name, given in options.items() if given.get("no_cpython_wrapper")] == []
