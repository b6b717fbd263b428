"""Random dims, tensors and programs, and oracles, for tests of code that uses dims.

dimtensor itself imports nothing of it; :mod:`dimtensor.testing.strategies` needs hypothesis.
"""
