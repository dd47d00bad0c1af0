"""The paper, claim by claim: `fabcost reproduce`, `fabcost simulate` and `fabcost tour`.

Read `contents` first: it lists the parts, each with measure, claims and figure.  `reproduction`
runs them through `engine` and tells what was found through `report`.  Only the command line and
the studies import this package.
"""
