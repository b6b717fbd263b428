"""Equal rows of data, which a log density computes once."""
