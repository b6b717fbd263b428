"""Whether models fit: simulation-based calibration and cross-validation, in processes."""
