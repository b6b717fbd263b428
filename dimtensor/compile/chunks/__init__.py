"""Calls of compiled functions with arrays in chunks."""
