"""Expressions as graphs: what they are made of, and parts of them exchanged."""
