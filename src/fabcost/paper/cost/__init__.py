"""What inference costs, beside what the paper says of it."""
