"""Values between labels: methods, what is beyond the ends, and gaps."""
