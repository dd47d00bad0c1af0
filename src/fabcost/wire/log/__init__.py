"""Logs of decisions as files: JSON Lines, Parquet, and what Vowpal Wabbit reads."""
