"""Cost of computations before they run, step by step: ``dt.explain``."""
