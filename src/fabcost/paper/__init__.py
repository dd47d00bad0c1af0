"""The paper, claim by claim: `fabcost reproduce`, `fabcost simulate` and `fabcost tour`.

Read `contents` first: it lists the `parts`, each of which tells what its namesake among the
`measures` has found.  `reproduction` runs them through `engine` and writes the `report`.  Only the
command line and the studies import this package.
"""
