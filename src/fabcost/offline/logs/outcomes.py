"""How logs write outcomes in words."""

#: Words for a miss and for a click, in lower case.
WORDS = {"false": 0.0, "true": 1.0, "no": 0.0, "yes": 1.0}
