"""Gaussian processes of many points, approximate or exact, without a dense matrix."""
