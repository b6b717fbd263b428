"""Plan: the stored variables of a graph, and the loop nest that computes each."""


class UnsupportedGraph(Exception):
    """The graph has something that the kernel compiler has no rule for at all."""
