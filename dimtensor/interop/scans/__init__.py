"""Conversion of PyTensor scans to loops."""
