from typing import final

import numpy as np
from numpy.typing import NDArray

@final
class Graph:
    def __init__(self) -> None: ...
    @property
    def n_edges(self) -> int: ...
    @property
    def n_segments(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def append(
        self,
        sources: NDArray[np.int32],
        targets: NDArray[np.int32],
        weights: NDArray[np.float32],
        evidence: NDArray[np.int32],
    ) -> Graph: ...
    def compact(self, alive: NDArray[np.uint8]) -> Graph: ...

def neighbors(
    graph: Graph, node: int, visible: NDArray[np.uint8]
) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int32]]: ...
def count_mentions(
    graph: Graph, visible: NDArray[np.uint8], n_entities: int
) -> NDArray[np.int32]: ...
def topk_ppr(
    graph: Graph,
    seeds: NDArray[np.int32],
    seed_weights: NDArray[np.float64],
    node_factors: NDArray[np.float32],
    visible: NDArray[np.uint8],
    damping: float = 0.5,
    epsilon: float = 1e-5,
    k: int = 100,
    max_pushes: int = 100_000,
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]: ...
