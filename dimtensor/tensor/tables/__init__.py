"""Tables of other libraries as tensors."""
