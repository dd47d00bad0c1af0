"""Posterior inference: Laplace, ADF, EP and their combination, with NUTS as the reference.

Each module has the same verb, ``fit(prior, X, y, ...)``.
"""
