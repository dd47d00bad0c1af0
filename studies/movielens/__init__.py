"""Effects of items on real tastes: ``python -m studies.movielens --data DIR``."""
