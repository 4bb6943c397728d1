from typing import final

import numpy as np
from numpy.typing import NDArray

@final
class WordPiece:
    def __init__(
        self,
        tokens: dict[str, int],
        unknown_id: int,
        max_word_chars: int = 100,
        lowercase: bool = True,
    ) -> None: ...
    def encode(self, text: str) -> NDArray[np.int32]: ...
