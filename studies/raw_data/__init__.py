"""Clicks with data as they come beside data scaled by hand: ``python -m studies.raw_data``."""
