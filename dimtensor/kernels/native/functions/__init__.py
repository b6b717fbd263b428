"""Functions that kernels call: functions of numbers, NumPy's distributions, LAPACK and BLAS."""
