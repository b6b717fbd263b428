"""Mini-batches: unbiased estimates of a log density from random rows of its data."""
