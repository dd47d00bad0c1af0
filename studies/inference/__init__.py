"""How fast inference is, beside other ways to compute the same: ``python -m studies.inference``."""
