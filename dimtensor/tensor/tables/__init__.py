"""Data frames of other libraries as tensors."""
