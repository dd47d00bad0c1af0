"""Tables to rows of features, column by column."""
