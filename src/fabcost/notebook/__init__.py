"""Files and pictures of what was learnt, its draws, and the learner in River, for people."""
