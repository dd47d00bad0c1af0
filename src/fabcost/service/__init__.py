"""The recommendation service: decisions and feedback over HTTP, durable, exactly once."""
