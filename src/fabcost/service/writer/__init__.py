"""The one thread that writes: requests in, transactions, counts, answers out."""
