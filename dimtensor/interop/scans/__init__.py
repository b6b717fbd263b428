"""Conversion of PyTensor's scans to loops, which are compiled as part of a kernel."""

from dimtensor.interop.scans.convert import scans_as_loops as scans_as_loops
