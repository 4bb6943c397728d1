import numpy as np
from numpy.typing import NDArray

def simd_tiers() -> tuple[str, ...]: ...
def simd_tier() -> str: ...
def set_simd_tier(name: str) -> None: ...
def pool(
    table: NDArray[np.int8] | NDArray[np.float32],
    ids: NDArray[np.int32] | NDArray[np.int64],
    weights: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]: ...
def length(
    table: NDArray[np.int8] | NDArray[np.float32],
    ids: NDArray[np.int32] | NDArray[np.int64],
    weights: NDArray[np.float32] | None = None,
) -> float: ...
def quantize_int8(x: NDArray[np.float32]) -> tuple[NDArray[np.int8], float]: ...
def pack_bits(q: NDArray[np.int8]) -> NDArray[np.uint64]: ...
def topk_int8(
    matrix: NDArray[np.int8],
    scales: NDArray[np.float32],
    query: NDArray[np.int8],
    query_scale: float,
    k: int,
    mask: NDArray[np.uint8] | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]: ...
def topk_bits(
    bits: NDArray[np.uint64],
    matrix: NDArray[np.int8],
    scales: NDArray[np.float32],
    query: NDArray[np.int8],
    query_scale: float,
    k: int,
    candidates: int,
    mask: NDArray[np.uint8] | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]: ...
def add_rows(
    query: NDArray[np.float32],
    matrix: NDArray[np.int8],
    scales: NDArray[np.float32],
    rows: NDArray[np.int32],
    weights: NDArray[np.float32],
) -> tuple[NDArray[np.int8], float]: ...
def score_rows(
    matrix: NDArray[np.int8],
    scales: NDArray[np.float32],
    query: NDArray[np.int8],
    query_scale: float,
    rows: NDArray[np.int32],
) -> NDArray[np.float64]: ...
