"""Log densities over named tensors: supports, transforms to the real line, sampling."""
