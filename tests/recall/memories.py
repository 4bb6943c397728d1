"""A store with the real model, and recall on it."""

from pathlib import Path
from typing import Any

import apsw
import numpy as np

from brain_daemon.config import SETTINGS
from brain_daemon.embedding.model import StaticModel
from brain_daemon.index.snapshot import Snapshot
from brain_daemon.index.visibility import Filters
from brain_daemon.model import Principal
from brain_daemon.recall import pipeline
from brain_daemon.recall.query import decode_query
from tests.index.stores import ALICE, ANALYZER, NOW_US, MirroredStore

DEFAULTS = {setting.name: setting.default for setting in SETTINGS}


class Memories(MirroredStore):
    """Texts are embedded by the model unless a test gives the embedding."""

    def __init__(self, path: Path, model: StaticModel) -> None:
        super().__init__(path, model.dim)
        self.model = model
        self.settings: dict[str, Any] = dict(DEFAULTS)

    def add(self, text: str, *, embedding: Any = None, **options: Any) -> int:
        embedding = self.model.embed(text) if embedding is None else embedding
        return super().add(text, embedding=embedding, **options)

    def recall(
        self,
        q: str,
        principal: Principal = ALICE,
        *,
        snapshot: Snapshot | None = None,
        conn: apsw.Connection | None = None,
        **params: Any,
    ) -> dict[str, Any]:
        """Recall; most texts here are made up, so abstaining is off unless a test asks for it."""
        return pipeline.recall(
            decode_query({"q": q, "abstain": False, **params}),
            principal,
            snapshot=snapshot or self.snapshot,
            conn=conn or self.conn,
            analyzer=ANALYZER,
            model=self.model,
            settings=self.settings,
        )

    def found(self, q: str, principal: Principal = ALICE, **params: Any) -> list[int]:
        """The chunk ids of the answer."""
        return [hit["id"] for hit in self.recall(q, principal, **params)["hits"]]

    def mask(self, principal: Principal = ALICE) -> np.ndarray:
        return self.snapshot.visible(principal, Filters(), NOW_US).mask
