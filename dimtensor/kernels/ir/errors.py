"""What is raised where loops are not what the language of kernels has."""


class NotNative(Exception):
    """Loops, or their source, that never become machine code: a mistake in what wrote them."""
