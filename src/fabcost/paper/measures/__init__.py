"""What is measured of each part: its units of work, and what is gathered from them."""
