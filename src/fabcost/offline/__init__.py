"""What was measured: data, measurements, and the pictures and tables made of them."""
