"""Conversion to and from positional PyTensor variables."""
