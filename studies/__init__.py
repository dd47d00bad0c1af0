"""Measurements that the documentation quotes; nothing here is part of the library."""
