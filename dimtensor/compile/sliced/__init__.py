"""Code for slices of a dim: the share of each slice in the results, and how shares are combined.

A :class:`~dimtensor.compile.sliced.program.SliceProgram` is made of the expressions of a function
and a dim that can be cut (:mod:`~dimtensor.graph.partition.analysis`). Its code is compiled once,
for slices of any length. Threads, streams of chunks, dask, devices and random subsets differ in who
computes the shares of which slices; the rest is here.
"""
