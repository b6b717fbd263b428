"""Rebuilding of graphs: substitution of nodes, replacement of dims, batching."""
