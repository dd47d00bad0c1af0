"""The best of very many rows that leave once they are shown, exactly."""
