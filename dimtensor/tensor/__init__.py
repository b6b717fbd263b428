"""What users touch: dims-tensors, their constructors and everything done with them."""
