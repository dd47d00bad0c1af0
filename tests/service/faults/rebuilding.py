"""A program that learns the log of a model from its beginning: ``rebuilding DATABASE MODEL``.

It prints how many impressions there are, and the digest of the posterior.
"""

from __future__ import annotations

import json
import sys

from tests.service.faults.ledger import rebuilt_digest

if __name__ == "__main__":
    json.dump(rebuilt_digest(*sys.argv[1:]), sys.stdout)
