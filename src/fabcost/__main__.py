"""``fabcost`` and ``python -m fabcost``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say what to install."""
    try:
        from fabcost.cli import application
    except ImportError as error:
        sys.exit(
            f"the fabcost command needs the extra 'reports' ({error.name} is missing): "
            "pip install 'fabcost[reports]'"
        )
    application()


if __name__ == "__main__":
    main()
