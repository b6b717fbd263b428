"""`dimtensor.pytensor_mode`: loop nests for functions that PyTensor and PyMC compile."""

from dimtensor.plugins.pytensor_mode.mode import pytensor_mode as pytensor_mode
