"""Gaussian integrals: elementwise, by Kalman filters, or by Cholesky factors."""
