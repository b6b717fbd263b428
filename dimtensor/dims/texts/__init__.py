"""Parsing of texts as labels that are dates."""
