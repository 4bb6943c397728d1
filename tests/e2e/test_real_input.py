"""Real text through the real socket: a product's documentation and a long conversation."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from brain_daemon.client import Client
from tests.daemon_process import ROOT, Daemon


@pytest.fixture(scope="module")
def vault(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path_factory.mktemp("vault")).start()
    daemon.cli("ingest", str(shared_data / "vault"))
    yield daemon
    assert daemon.stop() == 0


@pytest.mark.parametrize(
    ("q", "file"),
    [
        ("which environment variables configure the server", "configuration.md"),
        ("What trust assumptions does the SSO proxy header make?", "proxy-sso.md"),
        ("how is a memory poisoning attack mitigated", "MEMGHOST_MITIGATION.md"),
        ("how much memory does the docker container need", "docker.md"),
        ("What does the security runbook say about token rotation?", "deployment.md"),
        ("What risks does the OWASP agentic list name?", "OWASP_AGENTIC_2026.md"),
        ("questions a procurement team asks in an RFP", "RFP_RESPONSE_KIT.md"),
    ],
)
def test_vault_answers_with_the_right_file_first(vault: Daemon, q: str, file: str) -> None:
    with vault.client() as client:
        hits = client.recall(q=q)["hits"]
    assert Path(hits[0]["uri"]).name == file, [hit["uri"] for hit in hits]


def test_vault_is_idempotent(vault: Daemon, shared_data: Path) -> None:
    with vault.client() as client:
        before = client.stats()
        report = json.loads(vault.cli("ingest", str(shared_data / "vault"), "--json").stdout)
        after = client.stats()
    assert (before["chunks"], before["documents"]) == (after["chunks"], after["documents"])
    assert after["commits"] == before["commits"], report


def test_vault_links_became_edges(vault: Daemon) -> None:
    with vault.client() as client:
        assert client.stats()["edges"] > 0


@pytest.fixture(scope="module")
def conversation(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    daemon = Daemon(tmp_path_factory.mktemp("locomo")).start()
    with daemon.client() as client:
        with (shared_data / "locomo_dev" / "corpus.jsonl").open() as lines:
            turns = [json.loads(line) for line in lines]
        sample = turns[0]["metadata"]["sample"]
        for turn in turns:
            facts = turn["metadata"]
            if facts["sample"] == sample:
                client.remember(
                    text=turn["text"], uri=turn["_id"], domain=sample, thread=sample,
                    seq=facts["seq"],
                )  # fmt: skip
        yield client
    assert daemon.stop() == 0


def test_conversation_answers_are_among_the_first(conversation: Client, shared_data: Path) -> None:
    """A smoke run and not a measurement: most questions find a turn that holds the answer."""
    folder = shared_data / "locomo_dev"
    relevant: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text().splitlines():
        fields = line.split("\t")
        if fields[-1].isdigit() and int(fields[-1]) > 0:
            relevant.setdefault(fields[0], set()).add(fields[-2])
    found = asked = 0
    with (folder / "queries.jsonl").open() as lines:
        for line in lines:
            question = json.loads(line)
            sample = question["metadata"]["sample"]
            gold = relevant.get(question["_id"])
            if gold and all(uri.startswith(sample) for uri in gold):
                hits = conversation.recall(q=question["text"], domain=sample, k=10)["hits"]
                if not hits:
                    continue
                asked += 1
                found += bool(gold & {hit["uri"] for hit in hits})
    assert asked > 100
    assert found / asked > 0.5, f"{found} of {asked}"


def test_own_documents_answer_about_themselves(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path).start()
    daemon.cli("ingest", str(ROOT / "README.md"), str(ROOT / "docs"))
    with daemon.client() as client:
        hit = client.recall(q="how are forgotten words overwritten in the file?")["hits"][0]
    assert hit["uri"].endswith("docs/operations.md")
    assert hit["heading_path"][-1] == "Forgetting"
    assert daemon.stop() == 0
