"""Effects that items have of their own: their table, and which item has which row of it."""
