"""Which prior variances predict and choose best: ``python -m studies.priors``."""
