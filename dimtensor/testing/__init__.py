"""Random dims, tensors and arrays, and oracles, for tests of code that uses dims.

The rest of dimtensor does not import it; :mod:`dimtensor.testing.strategies` needs hypothesis.
"""
