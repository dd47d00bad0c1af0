"""Learning with very many weights: sparse rows, and a belief that is full on a core only."""
