"""The parts of the report: what the paper claims, beside the measurements, with pictures."""
