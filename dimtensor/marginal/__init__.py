"""Discrete unknowns summed out of log densities, by what their dims say is independent."""
