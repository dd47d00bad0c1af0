"""The paper's results, one by one: ``fabcost reproduce``."""
