import numpy as np
from numpy.typing import NDArray

def chained(
    rows: NDArray[np.uint8], before: NDArray[np.uint32], big_endian: bool
) -> NDArray[np.uint32]: ...
