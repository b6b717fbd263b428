"""Draws from the posterior: sampling, diagnostics, results."""
