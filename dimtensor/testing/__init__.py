"""Public strategies and oracles: random dims, tensors and programs for tests of code that uses dims.

Nothing here is imported by dimtensor itself; :mod:`dimtensor.testing.strategies` needs hypothesis.
"""
