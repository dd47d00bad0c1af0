"""``fabcost`` and ``python -m fabcost``."""

from __future__ import annotations

import sys

_OF_THE_COMMAND_LINE = ("rich", "typer")


def main() -> None:
    """Run the command line, or say what to install and exit with status 2."""
    try:
        from fabcost.cli import application
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        if missing not in _OF_THE_COMMAND_LINE:
            raise
        sys.stderr.write(
            f"the fabcost command needs the extra 'reports' ({missing} is missing): "
            "pip install 'fabcost[reports]'\n"
        )
        sys.exit(2)
    application()


if __name__ == "__main__":
    main()
