"""Distributions made of others: truncated, censored, transformed, mixed, with more zeros."""
