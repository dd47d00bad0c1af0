"""Learners: a fold over the log of a model, its snapshots, and how it is found again.

`follower.Follower` learns impressions and grows as the schema did; `learner.Learning` lets it, with
long refreshes in the background and snapshots now and then, and publishes what was learnt to
whoever decides; `recovery` is what a start and a lost connection have in common: from the database
to the learner that would be there without them.  The writer's thread applies, everyone may read.
"""
