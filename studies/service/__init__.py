"""Load on one server beside a bare echo of the same bodies: ``python -m studies.service``."""
