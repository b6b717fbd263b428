"""Pictures: what they show, where it lies, and how matplotlib draws it."""
