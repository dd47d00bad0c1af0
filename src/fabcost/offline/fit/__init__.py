"""Fitting logs that need not fit into memory: read once into blocks, then rounds over these."""
