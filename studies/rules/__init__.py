"""Which rule decides best, chosen on one half and confirmed on another."""
