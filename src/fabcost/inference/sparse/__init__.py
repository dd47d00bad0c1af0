"""Rows by their non-zeros: where a history keeps them, and the passes over them."""
