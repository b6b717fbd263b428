"""Rules: each makes nodes that compute the same as one that there is."""
