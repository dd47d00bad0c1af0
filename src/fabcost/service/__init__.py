"""The service: models that decide and learn behind HTTP, durable.

Read `server` first, which starts it, then `service`, which puts its parts together: `models` (the
event loop's side), `writer` and `learning` (one thread's side), and `store` (the database).  `http`
and `personalizer` are the contracts that callers see.
"""
