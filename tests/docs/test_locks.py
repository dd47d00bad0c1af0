"""What is installed is known by its content: the lock files hold versions and hashes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ["requirements.lock", "requirements-service.lock"]
PINNED = re.compile(r"([a-z0-9-]+==\S+)( ; [^\\]+)? \\")
HASH = re.compile(r"    (--hash=sha256:[0-9a-f]{64})( \\)?")


def read(lock: str) -> str:
    return (ROOT / lock).read_text(encoding="utf-8")


def entries(lock: str) -> dict[str, set[str]]:
    """The hashes of each name and version; every line is one or the other."""
    found: dict[str, set[str]] = {}
    for line in read(lock).splitlines():
        if pinned := PINNED.fullmatch(line):
            hashes = found.setdefault(pinned[1], set())
        else:
            hash_ = HASH.fullmatch(line)
            assert hash_ is not None, line
            hashes.add(hash_[1])
    return found


def project_name(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement)[0].lower()


@pytest.mark.parametrize("lock", LOCKS)
def test_every_requirement_has_a_hash(lock: str) -> None:
    assert entries(lock)
    for pinned, hashes in entries(lock).items():
        assert hashes, pinned


@pytest.mark.parametrize("lock", LOCKS)
def test_no_lock_names_an_address(lock: str) -> None:
    assert "://" not in read(lock)
    assert "index" not in read(lock)


def test_the_image_has_what_the_tests_had() -> None:
    assert entries("requirements-service.lock").items() <= entries("requirements.lock").items()


def test_the_image_has_what_the_service_asks_for() -> None:
    project = tomllib.loads(read("pyproject.toml"))
    asked = project["project"]["dependencies"]
    asked += project["project"]["optional-dependencies"]["service"]
    asked += project["build-system"]["requires"]
    locked = {pinned.partition("==")[0] for pinned in entries("requirements-service.lock")}
    assert {project_name(each) for each in asked} <= locked
