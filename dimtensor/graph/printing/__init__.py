"""Printing of the dims graph: a canonical listing, and formulas as the user wrote them."""
