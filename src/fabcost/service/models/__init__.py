"""Models in memory, as the event loop sees them: candidates, choice, record, views."""
