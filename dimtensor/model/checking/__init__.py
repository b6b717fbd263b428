"""Model checking in parallel processes: simulation-based calibration and cross-validation."""
