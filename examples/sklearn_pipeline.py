"""Bayesian logistic regression in a scikit-learn pipeline, with the spread of its probabilities."""

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fabcost import BayesianLogisticRegression

rng = np.random.default_rng(0)
visits = pd.DataFrame({"age": rng.normal(40, 12, 500), "price": rng.lognormal(3, 0.5, 500)})
log_odds = 0.06 * (visits["age"] - 40) - 0.05 * (visits["price"] - 20)
clicked = np.where(rng.random(500) < expit(log_odds), "click", "skip")

pipeline = make_pipeline(StandardScaler(), BayesianLogisticRegression())
scores = cross_val_score(pipeline, visits, clicked == "click", scoring="roc_auc")
print(f"area under the curve: {scores.mean():.3f} ± {scores.std():.3f} over {scores.size} folds")

pipeline.fit(visits, clicked == "click")
asked = pd.DataFrame({"age": [40.0, 60.0, 95.0], "price": [20.0, 20.0, 200.0]})
probability = pipeline.predict_proba(asked)[:, 1]

# The posterior is over the weights of the scaled features, the intercept last.
scaler, model = pipeline
design = np.column_stack([scaler.transform(asked), np.ones(len(asked))])
mean, variance = model.posterior_.marginal(design)
low, high = (expit(mean + side * 1.645 * np.sqrt(variance)) for side in (-1, 1))
print(asked.assign(p_click=probability, low_5=low, high_95=high).round(3).to_string(index=False))
