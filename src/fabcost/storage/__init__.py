"""Files: versioned, checked on reading, without pickle."""
