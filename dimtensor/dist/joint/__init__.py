"""Multivariate distributions, of vectors and matrices, and categorical ones."""
