"""Resident vectors: int8 rows with a scale each, and their packed sign bits."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from brain_daemon._ext import distance
from brain_daemon.index import growable


@dataclass(frozen=True, slots=True)
class Vectors:
    """``matrix[i] * scales[i]`` is the unit-length embedding of row i; scale 0: it has none."""

    matrix: npt.NDArray[np.int8]  # shape (n, dim)
    scales: npt.NDArray[np.float32]  # shape (n,)
    bits: npt.NDArray[np.uint64]  # shape (n, dim / 64)

    @classmethod
    def empty(cls, dim: int) -> "Vectors":
        return cls(
            growable.empty(np.int8, dim),
            growable.empty(np.float32),
            growable.empty(np.uint64, dim // 64),
        )

    @property
    def dim(self) -> int:
        return self.matrix.shape[1]

    @property
    def nbytes(self) -> int:
        return self.matrix.nbytes + self.scales.nbytes + self.bits.nbytes

    def append(self, matrix: npt.NDArray[np.int8], scales: npt.NDArray[np.float32]) -> "Vectors":
        """Add rows: ``matrix`` of shape (m, dim), ``scales`` of shape (m,)."""
        matrix = np.ascontiguousarray(matrix)
        return Vectors(
            growable.extend(self.matrix, matrix),
            growable.extend(self.scales, scales),
            growable.extend(self.bits, distance.pack_bits(matrix)),
        )
