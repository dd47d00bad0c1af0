"""The library and its server beside those of earlier commits, in turns."""
