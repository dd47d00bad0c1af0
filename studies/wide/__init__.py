"""Very many weights: beside other libraries, and beside the full belief."""
