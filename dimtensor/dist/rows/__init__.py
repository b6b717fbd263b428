"""Rows of the distribution table, by support."""
