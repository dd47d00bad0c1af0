"""What a file says of a learner, checked, and the learner that goes on from there."""
