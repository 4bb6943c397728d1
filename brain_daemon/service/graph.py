"""Operations on the entity graph: reading it, and stating or taking back a relation.

A link is a small memory of source ``manual`` whose one chunk says the relation in words and is its
evidence. So owner, visibility, expiry, export and forgetting hold for links as for all memories.
"""

from typing import Annotated, Any
from urllib.parse import quote

import apsw
import msgspec

from brain_daemon.errors import BadRequest, NotFound
from brain_daemon.index.snapshot import Change
from brain_daemon.index.visibility import Filters
from brain_daemon.model import Principal
from brain_daemon.recall.entities import (
    MAX_DEPTH,
    EntityView,
    chain,
    names_of,
    stated_record,
)
from brain_daemon.service.access import may_change
from brain_daemon.service.memory import Memory
from brain_daemon.service.operation import Operation, always
from brain_daemon.service.remember import (
    Label,
    Name,
    RelationParams,
    RememberParams,
    Stamp,
    remember,
)
from brain_daemon.service.writer import PutJob, WriteJob
from brain_daemon.store import documents
from brain_daemon.text.names import entity_key
from brain_daemon.timestamps import now_us

Limit = Annotated[int, msgspec.Meta(ge=1, le=1000)]


class EntityParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    name: Name
    domain: Label | None = None
    limit: Limit = 100


class RelationsParams(EntityParams, frozen=True, kw_only=True):
    relation: Name | None = None


class TraverseParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    name: Name
    domain: Label | None = None
    relation: Name | None = None
    kind: Label | None = None
    depth: Annotated[int, msgspec.Meta(ge=1, le=MAX_DEPTH)] = 2


class LinkParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    subject: Name
    relation: Name
    object: Name
    domain: Label = "default"
    access_scope: Label = "private"
    expires_at: Stamp | None = None


class UnlinkParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    subject: Name
    relation: Name
    object: Name
    domain: Label = "default"


def entity(memory: Memory, params: EntityParams, principal: Principal) -> dict[str, Any]:
    """Describe an entity by what the caller may see of it.

    Raises
    ------
    NotFound
        Nothing that the caller may see speaks of it, whether or not others' memories do.
    """
    view, index = _find(memory, params.name, params.domain, principal)
    chunk_ids = view.chunk_ids(index)
    return {
        **view.record(index),
        "n_chunks": len(chunk_ids),
        "chunk_ids": chunk_ids[: params.limit],
        "n_relations": len(view.relations(index)),
    }


def relations(memory: Memory, params: RelationsParams, principal: Principal) -> dict[str, Any]:
    """List what is stated about an entity, with the chunks that state it."""
    view, index = _find(memory, params.name, params.domain, principal)
    found = view.relations(index, params.relation)
    shown = found[: params.limit]
    names = names_of(view, shown)
    return {
        "entity": view.record(index),
        "relations": [stated_record(stated, names) for stated in shown],
        "n_relations": len(found),
    }


def traverse(memory: Memory, params: TraverseParams, principal: Principal) -> dict[str, Any]:
    """Walk from an entity over its relations, and tell for each one reached how."""
    view, start = _find(memory, params.name, params.domain, principal)
    steps, is_cut = view.walk(start, params.depth, params.relation)
    records = {index: view.record(index) for index in steps}
    names = {index: str(record["name"]) for index, record in records.items()}
    reached = []
    for index, record in records.items():
        if index == start or params.kind not in (None, record["kind"]):
            continue
        hops = chain(steps, index)
        reached.append(
            {**record, "depth": len(hops), "hops": [stated_record(hop, names) for hop in hops]}
        )
    return {
        "entity": records[start],
        "reached": reached,
        "visited": len(steps),
        "truncated": is_cut,
    }


def link(memory: Memory, params: LinkParams, principal: Principal) -> WriteJob | PutJob:
    """State a relation; the same one again in the same domain changes nothing."""
    subject, relation, object_ = params.subject, params.relation, params.object
    words = (subject, relation.replace("_", " "), object_)
    return remember(
        memory,
        RememberParams(
            text=" ".join(" ".join(word.split()) for word in words),
            uri=_uri(subject, relation, object_),
            source="manual",
            domain=params.domain,
            access_scope=params.access_scope,
            expires_at=params.expires_at,
            relations=(RelationParams(subject, relation, object_),),
        ),
        principal,
    )


def unlink(memory: Memory, params: UnlinkParams, principal: Principal) -> WriteJob:
    """Forget a link that the caller made; what other memories state stays stated."""
    uri = _uri(params.subject, params.relation, params.object)

    def apply(connection: apsw.Connection) -> tuple[dict[str, Any], list[Change]]:
        for document in documents.find(connection, uri=uri):
            tags = document.tags
            named = (tags.source, tags.owner, tags.domain)
            if named == ("manual", principal.name, params.domain) and may_change(principal, tags):
                removal = documents.remove(connection, document.id)
                result = {"document_ids": [document.id], "chunk_ids": removal.chunk_ids}
                return result, [Change.removal(removal.chunk_ids)]
        raise NotFound(
            f"you have no link {uri} in the domain {params.domain}; a relation that a text states "
            "goes when the text is forgotten, and graph.relations names it"
        )

    return WriteJob(apply, frees=True)


def _find(
    memory: Memory, name: str, domain: str | None, principal: Principal
) -> tuple[EntityView, int]:
    snapshot = memory.snapshot
    visible = snapshot.visible(principal, Filters(domain=domain), now_us())
    view = EntityView(snapshot, visible.mask, memory.reader())
    index = view.find(name)
    if index is None:
        raise NotFound(f"there is no entity {name!r}", name=name)
    return view, index


def _uri(subject: str, relation: str, object_: str) -> str:
    """Name a link by its ends and its relation, so that it exists once for an owner and domain."""
    ends = entity_key(subject), entity_key(object_)
    if not all(ends) or ends[0] == ends[1] or not relation.strip():
        raise BadRequest(
            f"a link leads from one entity to another, and {subject!r} {relation!r} {object_!r} "
            "does not: give two names that differ and a relation"
        )
    return "link:" + "/".join(quote(part, safe="") for part in (ends[0], relation, ends[1]))


OPERATIONS = (
    Operation("graph.entity", EntityParams, entity, "reader", heavy=always),
    Operation("graph.relations", RelationsParams, relations, "reader", heavy=always),
    Operation("graph.traverse", TraverseParams, traverse, "reader", heavy=always),
    Operation("link", LinkParams, link, "writer", writes=True),
    Operation("unlink", UnlinkParams, unlink, "writer", writes=True, audited=True),
)
