"""Texts and times that stand for labels which are dates."""
