"""A collection in a store of its own, written through the daemon's own table of operations."""

import asyncio
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from brain_daemon import config
from brain_daemon.errors import BrainError
from brain_daemon.evaluation.collection import Document
from brain_daemon.model import Principal
from brain_daemon.policy.rules import ROLES
from brain_daemon.service.dispatch import Dispatcher
from brain_daemon.service.memory import Memory
from brain_daemon.store import chunks

_BATCH = 256
_NOTHING_IS_SLOW_MS = 3_600_000  # the most that the setting takes


@dataclass(frozen=True, slots=True)
class LoadedCollection:
    """The engine with every document in it.

    ``documents`` leads from a chunk's id to the documents that it stands for; ``copies`` to the
    first chunk of the same words, which an answer shows in the place of all; ``refused`` from a
    document that the engine did not take to its reason.
    """

    memory: Memory
    principal: Principal
    documents: dict[int, list[str]]
    copies: dict[int, int]
    refused: dict[str, str]
    flagged: list[str]


@contextmanager
def loaded(documents: Sequence[Document]) -> Iterator[LoadedCollection]:
    """Store documents, one memory each, for the length of the block.

    Settings other than the store's place are those that a daemon would have: ``BRAIN_*``
    variables hold. No call is told of as slow, since documents queue for one commit.
    """
    with tempfile.TemporaryDirectory(prefix="brain-eval-") as folder:
        memory = Memory(config.load({"store": folder, "slow_call_ms": _NOTHING_IS_SLOW_MS}))
        try:
            principal = Principal("eval", os.getuid(), os.getgid(), os.getpid(), ROLES)
            answers = asyncio.run(_remember_all(memory, principal, documents))
            yield _collect(memory, principal, documents, answers)
        finally:
            memory.close()


def _collect(
    memory: Memory,
    principal: Principal,
    documents: Sequence[Document],
    answers: Sequence[dict[str, Any] | BrainError],
) -> LoadedCollection:
    collected = LoadedCollection(memory, principal, {}, {}, {}, [])
    for document, answer in zip(documents, answers, strict=True):
        if isinstance(answer, BrainError):
            collected.refused[document.id] = answer.message
            continue
        if answer["flagged"]:
            collected.flagged.append(document.id)
        for chunk_id in answer["chunk_ids"]:
            collected.documents.setdefault(chunk_id, []).append(document.id)
    chunk_ids = list(collected.documents)
    first: dict[int, int] = {}  # by hash
    for start in range(0, len(chunk_ids), _BATCH):
        for chunk in chunks.fetch(memory.reader(), chunk_ids[start : start + _BATCH]):
            hash_ = chunk.copy_hash  # None: there is no other
            collected.copies[chunk.id] = first.setdefault(hash_, chunk.id) if hash_ else chunk.id
    return collected


async def _remember_all(
    memory: Memory, principal: Principal, documents: Sequence[Document]
) -> list[dict[str, Any] | BrainError]:
    dispatcher = Dispatcher(memory)
    answers: list[dict[str, Any] | BrainError] = []
    try:
        for start in range(0, len(documents), _BATCH):
            batch = documents[start : start + _BATCH]
            answers += await asyncio.gather(*(_remember(dispatcher, principal, d) for d in batch))
    finally:
        dispatcher.close()
    return answers


async def _remember(
    dispatcher: Dispatcher, principal: Principal, document: Document
) -> dict[str, Any] | BrainError:
    try:
        answer: dict[str, Any] = await dispatcher(
            "remember", dict(document.params), principal, False
        )
    except BrainError as error:
        return error
    return answer
