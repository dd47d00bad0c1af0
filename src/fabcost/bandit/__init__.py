"""Decisions: policies over any learner, pools of candidates, environments, replay, evaluation."""
