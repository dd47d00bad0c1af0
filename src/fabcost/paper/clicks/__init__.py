"""The paper's figure of clicks."""
