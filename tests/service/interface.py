"""What users of a server and of the command line rely on, read from the outside.

``python -m tests.service.interface FILE`` wrote interface.json with version 0.1.0 (commit 5adf368).
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

import httpx
from typer.main import get_command

from fabcost import cli
from fabcost.service.settings import Settings
from tests.kept.story import served

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
VALUES = {"model": "none", "item": "ad-1", "decision": "d-1", "key_id": "k-1"}
CONTRACT = (
    "rank",
    "events/e-1/reward",
    "events/e-1/activate",
    "configurations/service",
    "configurations/policy",
    "status",
    "model",
    "multislot/rank",
    "evaluations",
)
BASES = ("personalizer/v1.0", "none/personalizer/v1.1-preview.3", "models/none/personalizer")
PAGES = ("/", "/dashboard/main.js", "/dashboard/style.css", "/dashboard/none", "/elsewhere")


def interface(http: httpx.Client) -> dict[str, Any]:
    """URLs with their methods, settings, metrics and commands."""
    document = http.get("/openapi.json").raise_for_status().json()
    native = [path.format_map(VALUES) for path in document["paths"]]
    contract = [f"/{base}/{operation}" for base, operation in product(BASES, CONTRACT)]
    paths = [*native, *contract, *PAGES]
    metrics = http.get("/metrics").raise_for_status().text
    return {
        "urls": {f"{each} {path}": told(http, each, path) for path in paths for each in METHODS},
        "settings": sorted(Settings.__struct_fields__),
        "model settings": sorted(document["components"]["schemas"]["ModelSettings"]["properties"]),
        "metrics": dict(re.findall(r"^# TYPE (\S+) (\S+)$", metrics, re.MULTILINE)),
        "commands": dict(sorted(commands(get_command(cli.application)))),
    }


def told(http: httpx.Client, method: str, path: str) -> str:
    """The status and the code of the answer to an empty object."""
    asked = http.request(method, path, json=None if method in ("GET", "HEAD") else {})
    try:
        found = asked.json()["error"]["code"]
    except (ValueError, KeyError, TypeError):
        found = "-"
    return f"{asked.status_code} {found}"


def commands(command: Any, name: str = "fabcost") -> list[tuple[str, str]]:
    """Commands and what may be given to each."""
    if hasattr(command, "commands"):
        below = command.commands.items()
        return [found for key, each in below for found in commands(each, f"{name} {key}")]
    given = [option for each in command.params for option in (*each.opts, *each.secondary_opts)]
    return [(name, " ".join(sorted(given)))]


def main(file: Path) -> None:
    """Write what a server of the version that is installed tells."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder) / "new.db") as http:
        written = json.dumps(interface(http), indent=1)
    file.write_text(written + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
