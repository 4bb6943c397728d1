"""The operation that checks a claim against a stored text."""

from typing import Annotated, Any

import msgspec

from brain_daemon.errors import NotFound
from brain_daemon.index.visibility import Filters
from brain_daemon.model import Principal
from brain_daemon.recall.verify import MAX_CLAIM_CHARS
from brain_daemon.recall.verify import verify as compare
from brain_daemon.service.memory import Memory
from brain_daemon.service.operation import Id, Operation, always
from brain_daemon.store import chunks
from brain_daemon.text.stopwords import STOP_WORDS
from brain_daemon.timestamps import now_us


class VerifyParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    chunk_id: Id
    claim: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_CLAIM_CHARS)]


def verify(memory: Memory, params: VerifyParams, principal: Principal) -> dict[str, Any]:
    """Tell whether a chunk says what a claim says.

    Raises
    ------
    NotFound
        It does not exist, or the caller may not see it: the two are not told apart.
    """
    (seen,) = memory.snapshot.sees((params.chunk_id,), principal, Filters(), now_us())
    found = chunks.fetch(memory.reader(), (params.chunk_id,)) if seen else []
    if not found:
        raise NotFound(f"there is no chunk {params.chunk_id}", id=params.chunk_id)
    stop_words = STOP_WORDS.get(memory.analyzer.language, frozenset())
    return compare(found[0].text, params.claim, stop_words).record()


OPERATIONS = (Operation("verify", VerifyParams, verify, "reader", heavy=always),)
