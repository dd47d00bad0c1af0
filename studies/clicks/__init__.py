"""Expected clicks of bandits in simulated worlds: ``python -m studies.clicks``."""
