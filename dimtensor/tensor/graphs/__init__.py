"""Expressions as graphs: traversal, rewriting and substitution."""
