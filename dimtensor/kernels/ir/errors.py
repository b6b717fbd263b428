"""Errors for loops outside of the language of kernels."""


class NotNative(Exception):
    """Loops, or their source, that never become machine code: a mistake in what wrote them."""


class InvalidKernel(Exception):
    """Loops that break a rule of the language: a mistake in the pass that made them."""
