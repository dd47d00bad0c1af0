"""How a reproduction runs: units of work that are kept, workers, scales, and the command itself."""
