"""Learners: a fold over the log of a model, its snapshots, and how it is found again.

`learner.Learning` applies impressions and publishes posteriors; `snapshot` writes it down now and
then; `recovery` is what a start and a lost connection have in common: from the database to the
learner that would be there without them.  The writer's thread applies, everyone may read.
"""
