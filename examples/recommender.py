"""Recommend adverts from raw records: new makes and devices are learnt as they appear."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import fabcost

LIKES = {"mobile": "kia", "desktop": "audi", "tv": "tesla"}
MAKES = ("ford", "kia", "audi", "tesla")

rng = np.random.default_rng(7)
rec = fabcost.Recommender(fabcost.Schema.open(), seed=7, wait=60.0)
clicks = 0

for now in range(600):
    # Televisions and Teslas come only later: each becomes new weights at their prior.
    device = str(rng.choice(list(LIKES)[: 2 if now < 300 else 3]))
    adverts: dict[str, dict[str, Any]] = {
        f"ad-{i}": {"make": make, "age": int(rng.integers(0, 10)) / 10}
        for i, make in enumerate(MAKES[: 3 if now < 300 else 4])
    }
    decision = rec.recommend({"device": device}, adverts, now=now)
    if rng.random() < (0.5 if adverts[decision.item]["make"] == LIKES[device] else 0.05):
        rec.feedback(decision.id, clicked=True, now=now + 1)
        clicks += 1

print(f"{clicks} clicks in 600 decisions; {len(rec.pending)} still wait for one, and then expire")
belief = rec.learner.posterior
order = np.argsort(-belief.mean)[:3]
print(f"the highest of {rec.schema.width} weights:")
for j in order:
    print(f"  {rec.schema.columns[j]:28s} {belief.mean[j]:5.2f} ± {belief.sd[j]:.2f}")

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "recommender.fabcost"
    rec.save(path)
    again = fabcost.Recommender.load(path).recommend({"device": "tv"}, adverts, now=600)
    print(f"saved {path.stat().st_size:,} bytes; after loading it recommends {again.item} on tv")
