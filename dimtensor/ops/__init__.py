"""Positional PyTensor Ops that PyTensor does not have; they know nothing of dims."""
