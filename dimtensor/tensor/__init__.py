"""The public interface: dims-tensors, their constructors, methods and functions."""

from dimtensor.tensor import core as core
