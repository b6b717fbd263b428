"""Checks of graphs: when they are built, between compiler stages, before and during a call."""
