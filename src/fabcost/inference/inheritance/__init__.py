"""What a learner has from another: its information, at a discount that outcomes decide."""
