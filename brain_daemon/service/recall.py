"""Operations that read memories: recall, trace, get, multi_get, documents."""

from typing import Annotated, Any

import msgspec

from brain_daemon import calls
from brain_daemon.errors import NotFound
from brain_daemon.index.visibility import EVER, Filters, permits
from brain_daemon.model import Principal, StoredChunk
from brain_daemon.recall import operators, pipeline
from brain_daemon.recall.entities import EntityView
from brain_daemon.recall.evidence import chunk_record
from brain_daemon.recall.query import QueryDoc
from brain_daemon.recall.render import render
from brain_daemon.service.memory import Memory
from brain_daemon.service.operation import Cursor, Id, Operation, always
from brain_daemon.service.traces import MAX_TRACES
from brain_daemon.store import chunks, documents
from brain_daemon.timestamps import format_us, now_us

MAX_IDS = 1000
MAX_INLINE_IDS = 100  # as many hits as the largest recall reads
MAX_PAGE = 1000
EXACT_INLINE_ROWS = 2000  # above, texts that hold a common word are not all read on the loop


class GetParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    id: Id


class MultiGetParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    ids: Annotated[tuple[Id, ...], msgspec.Meta(max_length=MAX_IDS)]


class TraceParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    trace_id: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


class DocumentsParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    uri_prefix: str = ""
    after: Cursor = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_PAGE)] = MAX_PAGE


def recall(memory: Memory, query: QueryDoc, principal: Principal) -> dict[str, Any]:
    """Answer a question; see docs/protocol.md for the fields."""
    call = calls.current.get()
    leg_ns: dict[str, int] = {}
    if call is not None:
        call.leg_ns = leg_ns
    answer = pipeline.recall(
        query,
        principal,
        snapshot=memory.snapshot,
        conn=memory.reader(),
        analyzer=memory.analyzer,
        model=memory.model,
        settings=memory.settings,
        leg_ns=leg_ns,
    )
    if query.trace:
        answer["trace_id"] = memory.traces.keep(principal.name, query, answer, format_us(now_us()))
        answer.pop("ranked", None)
    if query.render or query.max_context_tokens is not None:
        answer["render"] = render(
            answer["hits"], memory.model.count_tokens, query.max_context_tokens
        )
    return answer


def trace(memory: Memory, params: TraceParams, principal: Principal) -> dict[str, Any]:
    """Give a trace that the caller's own recall left.

    Of a memory that the caller may not see any more it has the id alone, and nothing that only
    such a memory said: no path over it, no words of it.

    Raises
    ------
    NotFound
        It is another's, it has made room for newer ones, or it never was.
    """
    found = memory.traces.find(principal.name, params.trace_id)
    if found is None:
        raise NotFound(
            f"there is no trace {params.trace_id!r}; the newest {MAX_TRACES} are kept until the "
            "daemon stops",
            trace_id=params.trace_id,
        )
    snapshot = memory.snapshot
    visible = snapshot.visible(principal, EVER, now_us())
    view = EntityView(snapshot, visible.mask, memory.reader())
    found["hits"] = [_of_the_present(hit, view) for hit in found["hits"]]
    for leg in found["legs"].values():
        if "entities" in leg:
            leg["entities"] = [name for name in leg["entities"] if view.find(name) is not None]
    if not all(map(view.sees, found["expansion"]["feedback"])):
        found["expansion"]["terms"] = []
    return found


def _of_the_present(hit: dict[str, Any], view: EntityView) -> dict[str, Any]:
    if not view.sees(hit["id"]):
        return {"id": hit["id"], "gone": True}
    graph = hit.get("provenance", {}).get("graph")
    if graph and not view.confirms(graph["path"]):
        graph["path"] = None
    return hit


def multi_get(memory: Memory, params: MultiGetParams, principal: Principal) -> dict[str, Any]:
    """Fetch chunks by id, in the order asked; what is absent or not visible is ``missing``."""
    found = {chunk.id: chunk for chunk in _fetch_visible(memory, params.ids, principal)}
    return {
        "chunks": [chunk_record(found[id_]) for id_ in params.ids if id_ in found],
        "missing": [id_ for id_ in params.ids if id_ not in found],
    }


def get(memory: Memory, params: GetParams, principal: Principal) -> dict[str, Any]:
    """Fetch one chunk.

    Raises
    ------
    NotFound
        It does not exist, or the caller may not see it: the two are not told apart.
    """
    found = _fetch_visible(memory, (params.id,), principal)
    if not found:
        raise NotFound(f"there is no chunk {params.id}", id=params.id)
    return chunk_record(found[0])


def list_documents(memory: Memory, params: DocumentsParams, principal: Principal) -> dict[str, Any]:
    """List the caller's own documents by id, a page at a time; some pages are shorter."""
    page = documents.page(
        memory.reader(),
        principal.name,
        uri_prefix=params.uri_prefix,
        after=params.after,
        limit=params.limit,
    )
    rows = [
        {
            "document_id": document.id,
            "uri": document.uri,
            "title": document.title,
            "revision": document.revision,
            "source": document.tags.source,
            "domain": document.tags.domain,
            "chunks": n_chunks,
        }
        for document, n_chunks in page
        if permits(principal, document.tags)
    ]
    full = len(page) == params.limit
    return {"documents": rows, "next": page[-1].document.id if full else None}


def _fetch_visible(memory: Memory, ids: tuple[int, ...], principal: Principal) -> list[StoredChunk]:
    sees = memory.snapshot.sees(ids, principal, Filters(), now_us())
    wanted = [id_ for id_, seen in zip(ids, sees, strict=True) if seen]
    return chunks.fetch(memory.reader(), wanted)


def _is_large(memory: Memory, query: QueryDoc) -> bool:
    n_rows = memory.snapshot.n_rows
    return n_rows > memory.settings["recall_inline_rows"] or (
        n_rows > EXACT_INLINE_ROWS and operators.decides(query)
    )


def _is_many(memory: Memory, params: MultiGetParams) -> bool:
    return len(params.ids) > MAX_INLINE_IDS


OPERATIONS = (
    Operation("recall", QueryDoc, recall, "reader", heavy=_is_large),
    Operation("trace", TraceParams, trace, "reader"),
    Operation("get", GetParams, get, "reader"),
    Operation("multi_get", MultiGetParams, multi_get, "reader", heavy=_is_many),
    Operation("documents", DocumentsParams, list_documents, "reader", heavy=always),
)
