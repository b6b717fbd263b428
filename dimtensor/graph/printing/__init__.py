"""The dims graph as text: one form for all processes, and one as its author wrote it."""
