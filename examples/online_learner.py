"""Learn online from impressions, ask for click probabilities, save and go on."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import fabcost

rng = np.random.default_rng(7)
theta = np.array([-3.0, 1.0, -0.5, 0.0, 0.8])
learner = fabcost.FabCost(fabcost.Gaussian.isotropic(5, variance=100.0))

for _ in range(500):
    x = np.concatenate([[1.0], rng.normal(size=4)])
    clicked = rng.random() < 1.0 / (1.0 + np.exp(-x @ theta))
    learner.observe(x, clicked)

belief = learner.posterior
print(f"after {learner.seen} impressions and {learner.refreshes} refreshes by EP:")
for name, mean, sd, true in zip("bcdef", belief.mean, belief.sd, theta, strict=True):
    print(f"  weight {name}: {mean:5.2f} ± {sd:.2f}   (true {true:5.2f})")
print("click probabilities:", belief.predict(np.array([[1.0, 1, 0, 0, 1], [1.0, -1, 0, 0, -1]])))

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "learner.fabcost"
    fabcost.save(learner, path)
    print(f"saved {path.stat().st_size:,} bytes; loaded again at {fabcost.load(path).seen}")
