import numpy as np
from numpy.typing import NDArray

RUN: int
SLOTS: int

def slot(run: bytes) -> int: ...
def find(letters: bytes, table: NDArray[np.uint16]) -> list[tuple[int, int]]: ...
