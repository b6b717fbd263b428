"""Compiled functions: programs, the cache of code, and the call boundary with its labels."""
