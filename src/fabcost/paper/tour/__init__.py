"""`fabcost tour`: how accurate each method is when data are few."""
