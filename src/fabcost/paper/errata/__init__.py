"""The errata of the paper, each at work on a small example."""
