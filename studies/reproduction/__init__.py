"""The documentation of a run of `fabcost reproduce`: ``python -m studies.reproduction``."""
