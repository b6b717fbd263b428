"""The loops of a kernel as typed expressions and statements, and what is done with them."""
