"""Clicks on real logs by the paper's replay: ``python -m studies.replays``."""
