"""The Dockerfile and the compose file, read by linters that others wrote."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HADOLINT = ["hadolint", "--no-color", "--failure-threshold", "style"]
COMPOSE = ["check-jsonschema", "--builtin-schema", "vendor.compose-spec"]


def complaints(linter: list[str], file: Path) -> str:
    """What a linter beside this Python has to say of a file; nothing if it is content."""
    program = shutil.which(linter[0], path=str(Path(sys.executable).parent))
    assert program is not None, f"{linter[0]} is not installed"
    command = [program, *linter[1:], str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout + done.stderr if done.returncode else ""


def broken(folder: Path, name: str, old: str, new: str) -> Path:
    """A copy of one of our files with something else in it."""
    written = (ROOT / name).read_text(encoding="utf-8")
    assert old in written
    copy = folder / name
    copy.write_text(written.replace(old, new, 1), encoding="utf-8")
    return copy


def test_the_dockerfile_is_clean() -> None:
    assert complaints(HADOLINT, ROOT / "Dockerfile") == ""


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("FROM python:", "FROM python AS other\nFROM python:", "DL3006"),
        ("COPY src src", "ADD src src", "DL3020"),
        ("WORKDIR /build", "WORKDIR build", "DL3000"),
        ("\nUSER 10001\n", "\nUSER root\n", "DL3002"),
        ('CMD ["serve"]', "CMD serve", "DL3025"),
        ("RUN useradd", "RUN cd /opt; useradd", "DL3003"),
        ("EXPOSE 8000", "EXPOSE 80000", "DL3011"),
        ("ENTRYPOINT", "ENTRYPIONT", "unexpected 'E'"),
    ],
)
def test_the_dockerfile_broken_is_not(tmp_path: Path, old: str, new: str, rule: str) -> None:
    assert rule in complaints(HADOLINT, broken(tmp_path, "Dockerfile", old, new))


def test_the_compose_file_is_valid() -> None:
    assert complaints(COMPOSE, ROOT / "compose.yaml") == ""


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("restart:", "restarts:", "'restarts' was unexpected"),
        ("service_healthy", "service_healed", "'service_healed' is not one of"),
        ("init: true", "init: [true]", "services.fabcost.init"),
        ("\n      - ALL", " ALL", "services.fabcost.cap_drop"),
        ("retries: 20", "retries: {}", "services.postgres.healthcheck.retries"),
        ("  postgres:\n    image", "  post gres:\n    image", "'post gres' does not match"),
    ],
)
def test_the_compose_file_broken_is_not(tmp_path: Path, old: str, new: str, where: str) -> None:
    assert where in complaints(COMPOSE, broken(tmp_path, "compose.yaml", old, new))
