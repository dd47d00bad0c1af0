"""Logs larger than memory, beside other libraries: ``python -m studies.scale``."""
