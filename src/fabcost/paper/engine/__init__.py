"""How a reproduction runs: scales, units of work that are kept, the processes that do them."""
