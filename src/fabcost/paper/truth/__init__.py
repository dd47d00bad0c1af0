"""The posterior itself, known far better than any approximation to it is accurate."""
