"""What a computation costs before it runs, step by step: ``dt.explain``."""
