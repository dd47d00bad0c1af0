"""The paper's replay on any log: ``fabcost replay``."""
