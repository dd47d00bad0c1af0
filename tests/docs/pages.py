"""Pages of the documentation, run as their readers would run them.

Blocks of ``python`` share one namespace; blocks of ``sh`` are run by bash in the same folder; a
block of ``text`` right after either is what it prints, with "…" for anything.  ``fabcost serve``
goes on beside the page, on a free port in place of the one that is written.  What a block exports,
later ones know; nothing else is set for them.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from typer.testing import CliRunner

from fabcost.cli import application
from tests.service.http.serving import Process, process

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BASH, CURL = shutil.which("bash"), shutil.which("curl")
DEFAULT = "127.0.0.1:8000"
SERVE = re.compile(r"fabcost serve --database (\S+)(?: --port (\d+))?((?: --set \S+)*)\n")
_EXPORT = re.compile(r"^export (\w+)=(\S+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """Something to run, and what it prints if the page says so."""

    language: str
    code: str
    said: str | None


def blocks(text: str) -> Iterator[Block]:
    found = list(_BLOCK.finditer(text))
    for each, after in zip_longest(found, found[1:]):
        follows = after is not None and not text[each.end() : after.start()].strip()
        said = after[2] if after is not None and follows and after[1] == "text" else None
        if each[1] in ("python", "sh"):
            yield Block(each[1], each[2], said)


class Reader:
    """Someone who types what a page says, in one folder."""

    def __init__(self, stack: contextlib.ExitStack, known: dict[str, str] | None = None) -> None:
        self._stack = stack
        self._known = dict(known or {})
        self._exported: dict[str, str] = {}
        self.names: dict[str, Any] = {"__name__": "page"}

    def read(self, page: Path) -> int:
        """Run all blocks of a page, and compare what they print; their number."""
        count = 0
        for count, block in enumerate(blocks(page.read_text(encoding="utf-8")), start=1):
            printed = self._run(block, f"{page.name}, block {count}")
            if block.said is not None:
                assert agrees(block.said, printed), f"{page.name} says\n{block.said}not\n{printed}"
        return count

    def _run(self, block: Block, where: str) -> str:
        if block.language == "sh" and (served := SERVE.fullmatch(block.code)):
            return self._serve(*served.groups())
        code = self._here(block.code)
        if block.language == "sh":
            printed = shell(code, self._known.get(DEFAULT, DEFAULT), self._exported)
            self._exported.update(_EXPORT.findall(code))
            return printed
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            exec(compile(code, where, "exec"), self.names)  # noqa: S102 - our own text
        return shown.getvalue()

    def _serve(self, database: str, port: str | None, flags: str) -> str:
        more = self._here(flags).split()
        server: Process = self._stack.enter_context(process(self._here(database), *more))
        written = DEFAULT if port is None else f"127.0.0.1:{port}"
        self._known[written] = server.address.removeprefix("http://")
        return f"listening on http://{written}\n"

    def _here(self, text: str) -> str:
        for written, real in self._known.items():
            text = text.replace(written, real)
        return text


def typed(script: str) -> list[list[str]] | None:
    """The words of each command, if all are fabcost's and a shell has nothing to do but to ask."""
    lines = script.replace("\\\n", " ").splitlines()
    if all(line.startswith("fabcost ") and not set("|<>$&;*`#") & set(line) for line in lines):
        return [shlex.split(line)[1:] for line in lines]
    return None


def shell(script: str, server: str, exported: dict[str, str]) -> str:
    """What bash prints for a script in which ``fabcost`` is ours; an error ends it.

    Unless it is told another, ``fabcost`` asks ``server`` in place of the one of its default.
    """
    commands = typed(script)
    if commands is not None:
        return "".join(asked(words, server) for words in commands)
    default = f'FABCOST_URL="${{FABCOST_URL-http://{server}}}"'
    ours = f'fabcost() {{ {default} "{sys.executable}" -m fabcost "$@"; }}\n'
    inherited = {name: value for name, value in os.environ.items() if name != "FABCOST_URL"}
    done = subprocess.run(
        [str(BASH), "-euc", ours + script],
        capture_output=True,
        text=True,
        check=False,
        env={**inherited, **exported},
    )
    assert done.returncode == 0, script + done.stdout + done.stderr
    return done.stdout


def asked(words: list[str], server: str) -> str:
    """What a command prints, in this process: others see to it that there is such a program."""
    done = CliRunner().invoke(application, words, env={"FABCOST_URL": f"http://{server}"})
    assert done.exit_code == 0, (words, done.output, done.exception)
    return done.stdout


def agrees(said: str, printed: str) -> bool:
    pattern = ".*".join(re.escape(part) for part in said.strip().split("…"))
    shown = re.sub(" +$", "", printed, flags=re.MULTILINE)
    return re.fullmatch(pattern, shown.strip(), re.DOTALL) is not None
