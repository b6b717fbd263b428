"""Draws of a model's variables: from the prior, or given draws of some of them."""
