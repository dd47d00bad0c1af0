"""The paper's figures of posterior marginals."""
