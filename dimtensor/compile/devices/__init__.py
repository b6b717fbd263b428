"""Functions on several devices of JAX: meshes, shares of a device, their code."""
