"""Threads that call machine code for slices, and the machine code that hands out the calls."""
