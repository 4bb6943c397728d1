"""kill -9 in mid-ingest: no acknowledged memory is lost and no index is torn.

``BRAIN_KILL_CYCLES`` sets how often; `make kill9` runs a hundred.
"""

import os
import threading
import time
from pathlib import Path

from brain_daemon.client import Client
from brain_daemon.errors import BrainError
from tests.daemon_process import Daemon

CYCLES = int(os.environ.get("BRAIN_KILL_CYCLES", "6"))


def write_until_killed(client: Client, prefix: str, acknowledged: list[str]) -> None:
    """Store, revise and link memories one by one, noting each that was acknowledged."""
    number = 0
    try:
        while True:
            uri = f"{prefix}-{number}"
            client.remember(
                text=f"Token {prefix}x{number} lies in bay {number % 17}. " * (1 + number % 5),
                uri=uri,
                entities=[f"Bay {number % 17}"],
            )
            acknowledged.append(uri)
            number += 1
    except BrainError:
        return


def test_no_acknowledged_memory_is_lost(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    acknowledged: list[str] = []
    for cycle in range(CYCLES):
        daemon.start()
        mine: list[list[str]] = [[] for _ in range(4)]
        clients = [daemon.client() for _ in mine]
        threads = [
            threading.Thread(target=write_until_killed, args=(client, f"c{cycle}w{i}", mine[i]))
            for i, client in enumerate(clients)
        ]
        for thread in threads:
            thread.start()
        give_up = time.monotonic() + 30
        while sum(map(len, mine)) < 20 + 37 * (cycle % 4) and time.monotonic() < give_up:
            time.sleep(0.001)
        daemon.kill()
        for thread in threads:
            thread.join()
        for client in clients:
            client.close()
        assert all(mine), "every writer was at work when the daemon died"
        acknowledged += [uri for uris in mine for uri in uris]

    daemon.start()
    with daemon.client() as client:
        health = client.call("health", deep=True)
        assert health["reasons"] == []
        stored: set[str] = set()
        after = 0
        while after is not None:
            page = client.call("documents", after=after)
            stored |= {document["uri"] for document in page["documents"]}
            after = page["next"]
        assert set(acknowledged) <= stored
        # What was stored is whole: text, words, vector and entity answer together.
        for uri in acknowledged[:: max(1, len(acknowledged) // 20)]:
            prefix, number = uri.split("-")
            hit = client.recall(q=f"{prefix}x{number}", k=1)["hits"][0]
            assert hit["uri"] == uri
            assert hit["provenance"]["lexical"]["rank"] == 1
    assert daemon.stop() == 0
