"""Logs on disk, read and checked."""
