"""The cache of compiled code: fingerprints of graphs, their descriptions, and storage."""
