"""What a reproduction tells: an HTML report, its pictures, and results for programs."""
