"""Tables from files, from Arrow and from arrays: `Table.of` reads them all by one rule.

A reader starts at `table`; `files` and `cells` say how a file is read, `columns` what a column is.
"""
