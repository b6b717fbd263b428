"""The target of the kernel compiler."""

from dimtensor.optimize.target import Target

NATIVE = Target(rewrites=True, fuses=True, stores_inner_traces=True)
