"""Jointly normal unknowns, which are integrated out."""
