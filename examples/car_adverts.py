"""Recommend used cars to simulated visitors, beside what a random choice would get."""

from __future__ import annotations

from itertools import islice

import numpy as np

import fabcost
from fabcost.worlds import CarAdverts, synthetic

VISITORS = 1_000

rng = np.random.default_rng(7)
cars = CarAdverts.random(synthetic(2_000, rng=rng), candidates=10, rng=rng)
rec = fabcost.Recommender(cars.schema, seed=7)
clicks, by_chance, at_best = 0, 0.0, 0.0

for visitor in islice(cars.visitors(rng), VISITORS):
    decision = rec.recommend(visitor.context, visitor.items)
    clicked = visitor.clicked(decision.item)
    rec.feedback(decision.id, clicked)
    clicks += clicked
    probabilities = list(visitor.probability.values())
    by_chance += sum(probabilities) / len(probabilities)
    at_best += max(probabilities)

print(f"{VISITORS:,} visitors, each with 10 of {len(cars.items):,} adverts to choose from")
print(f"  random choices  {by_chance:4.0f} clicks expected")
print(f"  Recommender     {clicks:4d} clicks")
print(f"  best choices    {at_best:4.0f} clicks expected, by the true probabilities")

belief = rec.learner.posterior
print("what it is surest of:")
for j in np.argsort(-np.abs(belief.mean / belief.sd))[:4]:
    print(f"  {rec.schema.columns[j]:34s}{belief.mean[j]:6.2f} ± {belief.sd[j]:.2f}")
