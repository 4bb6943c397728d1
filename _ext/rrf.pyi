import numpy as np
from numpy.typing import NDArray

def fuse(
    rankings: list[NDArray[np.int32]], k: int, rrf_k: float = 60.0
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]: ...
