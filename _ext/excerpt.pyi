from collections.abc import Mapping, Sequence

def surfaces(
    text: str, beginnings: tuple[str, ...] | None, breaks: bytes
) -> list[tuple[int, int]]: ...
def find(
    text: str,
    beginnings: tuple[str, ...] | None,
    breaks: bytes,
    spans: Mapping[str, Sequence[tuple[int, int]]],
) -> list[tuple[int, int]]: ...
def window(text: str, spans: list[tuple[int, int]], limit: int) -> tuple[int, int]: ...
