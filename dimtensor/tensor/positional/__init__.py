"""Ways to and from positional PyTensor."""
