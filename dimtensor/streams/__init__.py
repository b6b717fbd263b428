"""Streams: data that are read in chunks, in each pass again, instead of being held in memory."""
