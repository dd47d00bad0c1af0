"""Learners: a fold over the log, its snapshots, and how it is found again after a stop."""
