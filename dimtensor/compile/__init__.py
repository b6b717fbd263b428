"""From expressions to functions: programs, the call boundary, compiled functions."""
