"""Models of PyMC: their dims, models and expressions, in both directions."""
