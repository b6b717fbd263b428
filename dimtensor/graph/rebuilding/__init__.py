"""Graphs rebuilt with nodes replaced, dims exchanged or dims added."""
