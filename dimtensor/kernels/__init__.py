"""The kernel compiler: a positional graph becomes one function of loop nests."""
