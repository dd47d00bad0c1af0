"""Servers killed while they work, and what is left: ``python -m studies.kills``."""
