"""Models by formula: what ``y ~ 1 + x + (1 + x | county)`` says as a model with named dims."""
