"""The public interface: dims-tensors, their constructors, methods and functions."""
