"""The database of a service: SQLite or PostgreSQL, written by one server at a time.

`store.Store` is what the service asks for; it runs the named statements of ``sql/`` through a
`session.Session`, which lets only the latest server write, over a `connection.Connection` of
either driver.  Nothing outside knows SQL.  Start with `store`.
"""
