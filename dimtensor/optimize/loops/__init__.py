"""Rewrites of loops. They are called by the backends and registered nowhere."""
