from __future__ import annotations

import json
import subprocess
import sys

from tests.service import warmed


def test_what_is_warm_has_nothing_left_to_compile() -> None:
    # In a process of its own: here others may have used every kernel.
    command = [sys.executable, "-m", warmed.__name__]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["used"] > 10
    assert told["missed"] == []
