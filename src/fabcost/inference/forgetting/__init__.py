"""Forgetting: what was learnt goes back towards the prior, by half in a half-life."""
