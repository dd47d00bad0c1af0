"""The client in TypeScript, built as it is packed, and asked in Node and in a page."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import http.server
import json
import os
import shutil
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import msgspec
from playwright.sync_api import Page

from fabcost.client import ClientError, FeedbackRequest
from fabcost.wire.messages import DecisionAnswer, FeedbackAnswer

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "clients" / "typescript"
DRIVER = Path(__file__).with_name("driver.js")
OLDEST = 20


class NodeMissingError(RuntimeError):
    """Node, npm or what they need is not there."""


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise NodeMissingError(f"{name} is not installed")
    return found


def check_node() -> None:
    version = subprocess.run(
        [program("node"), "--version"], capture_output=True, text=True, check=True
    ).stdout
    if int(version.removeprefix("v").split(".")[0]) < OLDEST:
        raise NodeMissingError(f"Node is {version.strip()} but must be {OLDEST} or later")


def packed() -> Path:
    """What `npm pack` makes of the sources, unpacked; made once for each state of them."""
    files = sorted(each for each in SOURCES.rglob("*") if is_source(each))
    digest = hashlib.sha256()
    for each in files:
        digest.update(str(each.relative_to(SOURCES)).encode() + b"\0" + each.read_bytes())
    folder = Path(sys.prefix) / "typescript" / digest.hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "package").exists():
            build(files, folder)
    return folder / "package"


def is_source(path: Path) -> bool:
    inside = path.relative_to(SOURCES).parts[0]
    return path.is_file() and inside not in ("node_modules", "dist") and path.suffix != ".tgz"


def build(files: list[Path], folder: Path) -> None:
    check_node()
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    for each in files:
        copy = work / each.relative_to(SOURCES)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(each, copy)
    said = npm(work, "ci", "--no-audit", "--no-fund", "--ignore-scripts")
    if said is not None:
        raise NodeMissingError(f"npm ci failed: {said}")
    said = npm(work, "pack")
    assert said is None, f"what is written cannot be compiled: {said}"
    (archive,) = work.glob("*.tgz")
    with tarfile.open(archive) as content:
        content.extractall(work, filter="data")
    (work / "package").rename(folder / "package")


def npm(folder: Path, *arguments: str) -> str | None:
    """What npm says, if it fails."""
    done = subprocess.run(
        [program("npm"), *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr if done.returncode else None


@contextlib.contextmanager
def site(*folders: Path) -> Iterator[str]:
    """An origin with the files of some folders; its address."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            name = path.partition("?")[0].lstrip("/") or "index.html"
            found = [each / name for each in folders if (each / name).is_file()]
            return str(found[0] if found else folders[0] / "none")

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Speaker(Protocol):
    """Somewhere the client runs: asked by `begin`, answered by `end`."""

    def begin(self, message: dict[str, Any]) -> None: ...
    def end(self) -> dict[str, Any]: ...


class NodeSpeaker:
    """A process of Node."""

    def __init__(self, package: Path) -> None:
        code = f"""
            const {{ main }} = await import({json.dumps(DRIVER.as_uri())});
            await main(await import({json.dumps((package / "dist" / "index.js").as_uri())}));
        """
        self._process = subprocess.Popen(
            [program("node"), "--input-type=module", "--eval", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "NODE_NO_WARNINGS": "1"},
        )

    def begin(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        # What JSON has no word for, JavaScript reads from a number that is too large.
        self._process.stdin.write(json.dumps(message).replace("Infinity", "1e999") + "\n")
        self._process.stdin.flush()

    def end(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


class PageSpeaker:
    """A page of another origin than the server's."""

    def __init__(self, page: Page) -> None:
        self.page = page
        page.evaluate("""async () => {
            const { driver } = await import('/driver.js');
            window.answer = driver(await import('/dist/index.js'));
        }""")

    def begin(self, message: dict[str, Any]) -> None:
        self.page.evaluate("(asked) => { window.told = window.answer(asked); }", message)

    def end(self) -> dict[str, Any]:
        found: dict[str, Any] = self.page.evaluate("window.told")
        return found


class TypeScriptClient:
    """The client in TypeScript by the names, types and errors of the one in Python."""

    def __init__(self, speaker: Speaker, address: str, key: str, **options: Any) -> None:
        self._speaker = speaker
        self._options = {"url": address, "key": key, **options}

    def begin(self, model: str, method: str, *given: Any) -> None:
        options = {**self._options, "model": model}
        self._speaker.begin({"options": options, "method": method, "given": given})

    def end(self) -> Any:
        found = self._speaker.end()
        if "error" in found:
            problem = found["error"]
            raise ClientError(
                problem["code"],
                problem["message"],
                problem.get("status"),
                problem.get("requestId"),
            )
        return found["value"]

    def ask(self, model: str, method: str, *given: Any) -> Any:
        self.begin(model, method, *given)
        return self.end()

    def decide(self, model: str, **request: Any) -> DecisionAnswer:
        asked = msgspec.to_builtins(request)
        return msgspec.convert(self.ask(model, "decide", asked), DecisionAnswer)

    def feedback(
        self, model: str, decision_id: str, value: float = 1.0, *, key: str | None = None
    ) -> FeedbackAnswer:
        given = (decision_id, value) if key is None else (decision_id, value, key)
        return msgspec.convert(self.ask(model, "feedback", *given), FeedbackAnswer)

    def feedback_bulk(self, model: str, feedback: list[FeedbackRequest]) -> list[FeedbackAnswer]:
        many = [{"decision_id": each.decision_id, "value": each.value} for each in feedback]
        return msgspec.convert(self.ask(model, "feedbackBulk", many), list[FeedbackAnswer])

    def activate(self, model: str, decision_id: str) -> bool:
        return bool(self.ask(model, "activate", decision_id))


@functools.cache
def missing() -> str | None:
    """Why the client cannot be built here, if it cannot."""
    try:
        packed()
    except NodeMissingError as error:
        return str(error)
    return None
