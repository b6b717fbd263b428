"""Kernels as machine code: the source of a kernel goes to LLVM directly, numba is not needed.

The source is a small part of Python (see ``docs/design/native.md``). What is outside of it raises
:class:`~dimtensor.kernels.native.values.NotNative`, and the kernel is compiled by numba instead.
"""
