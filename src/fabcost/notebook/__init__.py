"""Pictures of what was learnt, and its draws, for people at notebooks."""
