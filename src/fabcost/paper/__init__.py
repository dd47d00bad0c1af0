"""The paper, claim by claim: `fabcost reproduce`, `fabcost simulate` and `fabcost tour`.

Read `reproduction` first: it lists the `parts`, each of which tells, in the words of texts.toml,
what its namesake among the `measures` has found; runs their `units`; and writes the report.  Only
the command line and the studies import this package.
"""
