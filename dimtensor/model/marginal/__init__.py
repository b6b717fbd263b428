"""Discrete variables of a model that are summed out of its log density, and their recovery."""
