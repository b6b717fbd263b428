"""What of a graph is stored, and in which loop nest it is computed."""


class UnsupportedGraph(Exception):
    """The graph has something that the kernel compiler has no rule for at all."""
