"""kill -9 in the middle of a batch: what was committed is there, nothing is half there."""

import signal
import subprocess
import sys
from pathlib import Path

from brain_daemon.store import connection, documents, maintenance, schema

from .samples import model_facts

WRITING = """
import sys
from store.samples import WRITER, make_chunk, make_document
from brain_daemon.store import connection, documents

conn = connection.open_writer(sys.argv[1])
start = int(sys.argv[2])
for batch in range(start, start + 10**6):
    with conn:
        for item in range(10):
            chunk = make_chunk(f"batch {batch} item {item}", names=("Ana", f"N{batch}"))
            documents.put(conn, make_document(chunk, "tail", uri=f"b{batch}/{item}"), WRITER, 0)
            documents.put(conn, make_document(f"now {batch}.{item}", uri="changing"), WRITER, 0)
            if batch and item == 5:
                print(batch, flush=True)     # the batch before this one is committed
"""


def test_a_killed_writer_loses_no_commit_and_halves_no_document(store_path: Path) -> None:
    conn = connection.open_writer(store_path)
    schema.prepare(conn, **model_facts())
    conn.close()
    tests = Path(__file__).resolve().parent.parent
    start = 0
    for cycle in range(8):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITING, str(store_path), str(start)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=tests,
            env={"PYTHONPATH": f"{tests}:{tests.parent}"},
        )
        assert process.stdout is not None
        with process:
            seen = [process.stdout.readline() for _ in range(1 + cycle)][-1]
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
        committed = int(seen) - 1
        conn = connection.open_writer(store_path)
        schema.prepare(conn, **model_facts())
        conn.execute("INSERT INTO chunk_fts(chunk_fts, rank) VALUES ('integrity-check', 1)")
        assert maintenance.integrity_findings(conn) == []
        for batch in range(committed + 1):
            assert len(documents.page(conn, "alice", uri_prefix=f"b{batch}/")) == 10
        n_documents = maintenance.counts(conn)["documents"]
        assert n_documents % 10 == 1
        start = (n_documents - 1) // 10
        conn.close()
