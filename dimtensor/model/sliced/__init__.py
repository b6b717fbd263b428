"""Log densities that are computed from the shares of slices of a dim."""
