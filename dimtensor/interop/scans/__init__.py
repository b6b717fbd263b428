"""PyTensor's scans as loops of dimtensor, which are part of a kernel."""

from dimtensor.interop.scans.convert import scans_as_loops as scans_as_loops
