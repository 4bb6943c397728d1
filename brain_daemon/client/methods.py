"""The wire methods by name, for both clients, and which of them may be repeated.

Not here: their parameters beyond the first, which the daemon checks and ``docs/protocol.md``
lists. Layer: client.
"""

from abc import ABC, abstractmethod
from typing import Any

REPEATABLE = frozenset(
    {
        "audit.list",
        "audit.verify",
        "config",
        "decayed",
        "documents",
        "export",
        "get",
        "graph.entity",
        "graph.relations",
        "graph.traverse",
        "health",
        "hello",
        "metrics",
        "multi_get",
        "ping",
        "quarantine.history",
        "quarantine.list",
        "recall",
        "stats",
        "trace",
        "verify",
        "whoami",
    }
)
"""Methods that change nothing, so that a lost answer is cured by asking again."""


class Methods(ABC):
    """One Python method for each wire method.

    Each gives what ``call`` gives: the result, or for ``AsyncClient`` an awaitable of it. Errors
    are raised as the matching class of ``brain_daemon.errors``.
    """

    @abstractmethod
    def call(self, method: str, /, **params: Any) -> Any:
        """Call any method by its wire name."""

    def ping(self) -> Any:
        """Ask whether the daemon answers: ``"pong"``."""
        return self.call("ping")

    def hello(self, **params: Any) -> Any:
        """Ask for versions, limits and capabilities."""
        return self.call("hello", **params)

    def whoami(self) -> Any:
        """Ask who the daemon takes this process for."""
        return self.call("whoami")

    def remember(self, text: str, **params: Any) -> Any:
        """Store one text; durable and recallable when this returns."""
        return self.call("remember", text=text, **params)

    def ingest_markdown(self, content: str, uri: str, **params: Any) -> Any:
        """Store one Markdown document, or its new revision."""
        return self.call("ingest_markdown", content=content, uri=uri, **params)

    def recall(self, q: str, **params: Any) -> Any:
        """Search: ranked hits with the reasons for each."""
        return self.call("recall", q=q, **params)

    def trace(self, trace_id: str) -> Any:
        """Fetch how one of your recalls, made with ``trace=True``, came to its answer."""
        return self.call("trace", trace_id=trace_id)

    def get(self, id: int) -> Any:
        """Fetch one chunk."""
        return self.call("get", id=id)

    def multi_get(self, ids: list[int]) -> Any:
        """Fetch several chunks, in the order asked."""
        return self.call("multi_get", ids=ids)

    def verify(self, chunk_id: int, claim: str) -> Any:
        """Ask whether a chunk says, word for word, what a claim says."""
        return self.call("verify", chunk_id=chunk_id, claim=claim)

    def documents(self, **params: Any) -> Any:
        """List stored documents, a page at a time."""
        return self.call("documents", **params)

    def decayed(self, **params: Any) -> Any:
        """List expired chunks, those that expired last first."""
        return self.call("decayed", **params)

    def decay_extend(self, document_id: int, expires_at: Any) -> Any:
        """Let a document expire at another time, or with ``None`` never."""
        return self.call("decay.extend", document_id=document_id, expires_at=expires_at)

    def forget(self, **params: Any) -> Any:
        """Remove a chunk (``id``) or a document (``document_id``, ``uri``) from every index."""
        return self.call("forget", **params)

    def graph_entity(self, name: str, **params: Any) -> Any:
        """Describe an entity by what may be seen of it."""
        return self.call("graph.entity", name=name, **params)

    def graph_relations(self, name: str, **params: Any) -> Any:
        """List what is stated about an entity, and where."""
        return self.call("graph.relations", name=name, **params)

    def graph_traverse(self, name: str, **params: Any) -> Any:
        """Walk from an entity over its relations; each entity reached with the way to it."""
        return self.call("graph.traverse", name=name, **params)

    def link(self, subject: str, relation: str, object: str, **params: Any) -> Any:
        """State a relation; it is stored as a memory of its own."""
        return self.call("link", subject=subject, relation=relation, object=object, **params)

    def unlink(self, subject: str, relation: str, object: str, **params: Any) -> Any:
        """Forget a link of one's own."""
        return self.call("unlink", subject=subject, relation=relation, object=object, **params)

    def quarantine_list(self, **params: Any) -> Any:
        """List what is held back, a page at a time."""
        return self.call("quarantine.list", **params)

    def quarantine_history(self, **params: Any) -> Any:
        """List who decided what about which chunk, a page at a time."""
        return self.call("quarantine.history", **params)

    def quarantine_screen(self, **params: Any) -> Any:
        """Screen what is stored already, a page at a time; ``dry_run`` only tells."""
        return self.call("quarantine.screen", **params)

    def quarantine_release(self, id: int) -> Any:
        """Let a chunk out of quarantine."""
        return self.call("quarantine.release", id=id)

    def quarantine_delete(self, id: int) -> Any:
        """Remove a chunk that is in quarantine."""
        return self.call("quarantine.delete", id=id)

    def stats(self) -> Any:
        """Ask for counts and sizes."""
        return self.call("stats")

    def health(self, **params: Any) -> Any:
        """Ask what is wrong, if anything."""
        return self.call("health", **params)

    def metrics(self) -> Any:
        """Ask for all figures, as Prometheus' text format in ``text``."""
        return self.call("metrics")

    def config(self) -> Any:
        """Ask for the effective settings."""
        return self.call("config")

    def policy_reload(self) -> Any:
        """Have the policy file read again; a bad one is refused and changes nothing."""
        return self.call("policy.reload")

    def audit_verify(self, **params: Any) -> Any:
        """Ask whether the audit log is whole, and for its ``head``."""
        return self.call("audit.verify", **params)

    def audit_list(self, **params: Any) -> Any:
        """Read records of the audit log, the newest or those after a number."""
        return self.call("audit.list", **params)

    def reindex(self) -> Any:
        """Build the full-text index and the resident index anew."""
        return self.call("reindex")

    def compact(self) -> Any:
        """Give back the space of what was forgotten, and its bytes with it."""
        return self.call("compact")

    def backup(self, path: str, **options: Any) -> Any:
        """Write a verified copy of the store; `path` is the daemon's, absolute."""
        return self.call("backup", path=path, **options)
