"""The public interface: dims-tensors, their constructors, methods and functions."""

from dimtensor.tensor import core as core
from dimtensor.tensor.ragged import along as along
from dimtensor.tensor.ragged import loops as loops
