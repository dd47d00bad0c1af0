"""``fabcost`` and ``python -m fabcost``."""

from __future__ import annotations

import sys
import warnings

from fabcost import __version__
from fabcost.extras import MissingExtraError, of_command, told_what_is_missing


def main() -> None:
    """Run the command line, or say what to install and exit with status 2."""
    command = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    warnings.formatwarning = lambda message, *_: f"Note: {message}\n"
    if sys.argv[1:] in (["--version"], ["version"]):  # which needs no extra
        sys.stdout.write(f"{__version__}\n")
        return
    what = f"fabcost {command}" if command else "the fabcost command"
    try:
        with told_what_is_missing(what, *of_command(command, *sys.argv)):
            from fabcost.cli import application

            application()
    except MissingExtraError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
