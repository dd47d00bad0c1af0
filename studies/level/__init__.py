"""Why a bandit on Laplace's approximation has as many clicks on real logs as one on EP's."""
