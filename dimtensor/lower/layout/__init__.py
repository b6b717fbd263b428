"""The layout plan: the order of axes of every variable."""
