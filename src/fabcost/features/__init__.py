"""Raw records to design rows: features, their columns, and catalogues encoded once."""
