"""What a leg hands on: its candidates in order, or why it has none."""

from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

Rows = npt.NDArray[np.int32]
Scores = npt.NDArray[np.float64]

NO_ROWS: Rows = np.empty(0, np.int32)
NO_SCORES: Scores = np.empty(0, np.float64)


class Ranking(Struct, frozen=True):
    """A leg's list, best first, ties by row ascending; ``skipped`` says why there is none."""

    rows: Rows = NO_ROWS
    scores: Scores = NO_SCORES
    skipped: str | None = None
    failed: bool = False

    def report(self) -> dict[str, Any]:
        """Describe the leg in the answer."""
        if self.skipped is not None:
            return {"status": "failed" if self.failed else "skipped", "reason": self.skipped}
        return {"status": "ran", "candidates": len(self.rows)}
