"""What kernels call, in LLVM: functions of numbers, NumPy's distributions, LAPACK and BLAS."""
