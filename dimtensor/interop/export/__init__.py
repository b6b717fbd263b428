"""Compiled functions as StableHLO, for programs that have no dimtensor."""
