"""The one thread that writes: requests in, transactions, answers out.

`writer.Writer` is what the event loop sees of it, `requests` what can be asked.  In its thread the
`journal` keeps the database and the learners in step; what a group of requests means is decided by
one `transaction`, with its `counts`.
"""
