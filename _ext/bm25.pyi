from typing import final

import numpy as np
from numpy.typing import NDArray

@final
class Postings:
    def __init__(self) -> None: ...
    @property
    def n_postings(self) -> int: ...
    @property
    def n_segments(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def append(
        self,
        rows: NDArray[np.int32],
        indptr: NDArray[np.int64],
        ids: NDArray[np.uint32],
        tfs: NDArray[np.uint16],
    ) -> Postings: ...
    def compact(self, alive: NDArray[np.uint8]) -> Postings: ...

def topk_bm25(
    postings: Postings,
    term_ids: NDArray[np.int32],
    lengths: NDArray[np.int32],
    alive: NDArray[np.uint8],
    visible: NDArray[np.uint8] | None,
    n_documents: int,
    average_length: float,
    k: int,
    k1: float = 1.2,
    b: float = 0.75,
    weights: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]: ...
def document_frequencies(
    postings: Postings, term_ids: NDArray[np.int32], alive: NDArray[np.uint8]
) -> NDArray[np.int32]: ...
def term_frequencies(
    postings: Postings, term_ids: NDArray[np.int32], rows: NDArray[np.int32]
) -> NDArray[np.uint16]: ...
def rows_with_all(postings: Postings, term_ids: NDArray[np.int32]) -> NDArray[np.int32]: ...
