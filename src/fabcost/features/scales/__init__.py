"""Numbers that scale themselves: anchors fix what enters a row, constants what the prior expects.

A reader starts at `anchors`; `constants` follows what is read, `prior` puts it into a Gaussian.
"""
