"""Benchmarks of the real daemon over its socket, and of the kernels alone."""

import os

# Before NumPy is imported: a baseline's work must fall on the thread whose CPU time is read.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
