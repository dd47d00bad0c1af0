"""The unmodified npm clients, run by Node against a real server."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.service.personalizer.loopback import Loopback
from tests.service.personalizer.serving import ACTIONS, CONTEXT

NPM = Path(__file__).parent / "npm"
CACHE = Path.home() / ".cache" / "fabcost" / "npm"
CLIENTS = {"first": "@azure/cognitiveservices-personalizer", "rest": "@azure-rest/ai-personalizer"}


def missing(reason: str) -> None:
    if os.environ.get("FABCOST_REQUIRE_NODE") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def installed() -> Path:
    """The packages at their pinned versions, installed once for each lock file."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        missing("Node.js with npm is not installed")
    pinned = [NPM / "package.json", NPM / "package-lock.json"]
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in pinned)).hexdigest()
    home = CACHE / digest[:16]
    if not home.exists():
        install(pinned, home)
    place(NPM / "loop.js", home)
    return home


def install(pinned: list[Path], home: Path) -> None:
    """All or nothing, also if two processes install at once."""
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent) as folder:
        for each in pinned:
            shutil.copy(each, folder)
        command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            missing(f"npm could not install the clients: {done.stderr.partition(chr(10))[0]}")
        if not home.exists():
            shutil.copytree(folder, f"{folder}-whole", symlinks=True)
            settle(Path(f"{folder}-whole"), home)


def settle(whole: Path, home: Path) -> None:
    """Take the place, unless another process was first."""
    try:
        whole.rename(home)
    except OSError:
        shutil.rmtree(whole)
        if not home.exists():
            raise


def place(script: Path, home: Path) -> None:
    """Copy in one step: another process may be running the same script."""
    with tempfile.TemporaryDirectory(dir=home.parent) as folder:
        Path(shutil.copy(script, folder)).replace(home / script.name)


def run(home: Path, which: str, endpoint: str, key: str, **changes: Any) -> dict[str, Any]:
    body = json.dumps({"actions": ACTIONS, "contextFeatures": CONTEXT, **changes})
    command = ["node", "loop.js", which, endpoint, key, body]
    done = subprocess.run(
        command, cwd=home, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("which", CLIENTS)
def test_rank_activate_reward_and_the_same_rank_again(
    server: Loopback, installed: Path, which: str
) -> None:
    changes = {"eventId": "ev/1 x", "deferActivation": True, "excludedActions": ["ice cream"]}
    found = run(installed, which, server.endpoint(which), server.key, **changes)
    assert "refused" not in found, found
    answer = found["ranked"]["body"]
    assert found["ranked"]["status"] == 201
    assert answer["eventId"] == "ev/1 x"
    assert answer["ranking"][1] == {"id": "ice cream", "probability": 0.0}
    assert (found["activated"]["status"], found["rewarded"]["status"]) == (204, 204)
    assert found["again"]["body"] == answer
    assert server.impressions(which) == 1
    decision = server.decision(which, "ev/1 x")
    assert (decision.value, decision.item) == (1.0, answer["rewardActionId"])


@pytest.mark.parametrize("which", CLIENTS)
def test_an_endpoint_without_a_model_is_the_default(
    server: Loopback, installed: Path, which: str
) -> None:
    found = run(installed, which, server.address, server.key, eventId=which)
    assert "refused" not in found, found
    assert found["again"]["body"] == found["ranked"]["body"]
    assert server.decision("default", which).value == 1.0


@pytest.mark.parametrize("which", CLIENTS)
def test_a_wrong_key_is_the_contracts_error(server: Loopback, installed: Path, which: str) -> None:
    refused = run(installed, which, server.endpoint("closed"), "wrong")["refused"]
    assert refused["status"] == 401
    assert "Access denied due to invalid subscription key" in refused["message"]


@pytest.mark.parametrize("which", CLIENTS)
def test_a_bad_request_is_the_contracts_error(
    server: Loopback, installed: Path, which: str
) -> None:
    refused = run(installed, which, server.endpoint("bad"), server.key, actions=[])["refused"]
    assert refused["status"] == 400
    assert "Action count should be between 1 and 50" in refused["message"]
