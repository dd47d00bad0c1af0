"""fabcost beside other bandit libraries: ``python -m studies.peers``."""
