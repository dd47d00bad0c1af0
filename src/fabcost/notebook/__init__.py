"""Pictures of what was learnt, its draws, and the learner in River, for people at notebooks."""
