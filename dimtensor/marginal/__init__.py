"""Marginalization of log densities: variable elimination on the factor graph given by the dims."""
