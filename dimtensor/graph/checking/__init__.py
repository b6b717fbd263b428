"""What is checked of a graph: when it is written, between stages, before a call and in it."""
