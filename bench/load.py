"""Fill a store through the socket, then ask it: ingest rate, CPU per recall, memory.

The daemon's blocks alternate with the SQL baseline's (A B A B …), so that what else the machine
does falls on both.
"""

import random
import time
from typing import Any

from bench.corpus import Corpus
from bench.daemon import Daemon
from bench.figures import summarize
from bench.sql_baseline import SqlRecall
from bench.wire import Wire, encode

BLOCKS = 5
RECALLS_PER_BLOCK = 120
WARM_UP = 60


def ingest(daemon: Daemon, corpus: Corpus, start: int, stop: int) -> dict[str, Any]:
    """Remember the documents ``start <= n < stop`` through one pipelined connection."""
    requests = (
        encode("remember", text=document.text, title=document.title, uri=f"bench:{number}")
        for number, document in enumerate(corpus.documents(start, stop), start)
    )
    with daemon.connect() as wire:
        cpu, wall = daemon.cpu_ns(), time.perf_counter()
        commits = wire.call("stats")["commits"]
        n_sent = wire.pipeline(requests)
        cpu, wall = daemon.cpu_ns() - cpu, time.perf_counter() - wall
        stats = wire.call("stats")
    return {
        "documents": n_sent,
        "chunks_after": stats["index"]["chunks"],
        "index": stats["index"],
        "store_mb": round(stats["store_bytes"] / 1e6, 1),
        "commits": stats["commits"] - commits,
        "wall_s": round(wall, 2),
        "chunks_per_s_wall": round(n_sent / wall),
        "chunks_per_s_cpu": round(n_sent / (cpu / 1e9)),
        "cpu_us_per_chunk": round(cpu / n_sent / 1e3, 1),
    }


def compare_recall(
    daemon: Daemon, corpus: Corpus, n_documents: int, n_baseline: int
) -> dict[str, Any]:
    """Ask the daemon and the SQL baseline the same questions in alternating blocks.

    Parameters
    ----------
    n_documents : int
        How many documents the store holds: the questions are about these.
    n_baseline : int
        Questions of each block that the (dearer) baseline answers as well; the ratio of a block
        compares the CPU time of these questions only.
    """
    questions = corpus.questions(WARM_UP + BLOCKS * RECALLS_PER_BLOCK, n_documents)
    random.Random(1).shuffle(questions)
    baseline = SqlRecall(daemon.database)
    cpu_us: list[float] = []
    rtt_us: list[float] = []
    sql_ms: list[float] = []
    blocks: list[float] = []
    ratios: list[float] = []
    agreement: list[float] = []
    with daemon.connect() as wire:
        _ask(daemon, wire, questions[:WARM_UP])
        for question in questions[:10]:
            baseline.answer(question)
        for block in range(BLOCKS):
            start = WARM_UP + block * RECALLS_PER_BLOCK
            asked = questions[start : start + RECALLS_PER_BLOCK]
            cpu, rtt, answers = _ask(daemon, wire, asked)
            spent, found = _answer_by_sql(baseline, asked[:n_baseline])
            cpu_us += cpu
            rtt_us += rtt
            sql_ms += [us / 1e3 for us in spent]
            blocks.append(sum(cpu) / len(cpu))
            ratios.append(sum(spent) / sum(cpu[:n_baseline]))
            agreement += map(_overlap, answers, found)
    baseline.close()
    return {
        "server_cpu": summarize(cpu_us, "us", 1),
        "server_cpu_block_means": summarize(blocks, "us", 1),
        "round_trip": summarize(rtt_us, "us", 1),
        "sql_cpu": summarize(sql_ms, "ms"),
        "sql_ratio": summarize(ratios, "x", 2),
        "top5_agreement_with_sql": round(sum(agreement) / len(agreement), 3),
    }


def _ask(
    daemon: Daemon, wire: Wire, questions: list[str]
) -> tuple[list[float], list[float], list[list[int]]]:
    """Give for each question the server's CPU time, the round trip (both µs) and the chunks.

    The clock is read once between two calls: what the server still does after its answer has
    left falls on the next call, and nothing is lost.
    """
    cpu, rtt, answers = [], [], []
    before = daemon.cpu_ns()
    # The baseline never abstains, and the two are compared by what they find.
    for request in [encode("recall", q=question, abstain=False) for question in questions]:
        started = time.perf_counter_ns()
        wire.send(request)
        answer = wire.receive()
        rtt.append((time.perf_counter_ns() - started) / 1e3)
        now = daemon.cpu_ns()
        cpu.append((now - before) / 1e3)
        before = now
        answers.append([hit["id"] for hit in answer["hits"]])
    return cpu, rtt, answers


def _answer_by_sql(
    baseline: SqlRecall, questions: list[str]
) -> tuple[list[float], list[list[int]]]:
    spent, found = [], []
    for question in questions:
        started = time.thread_time_ns()
        chunks = baseline.answer(question)
        spent.append((time.thread_time_ns() - started) / 1e3)
        found.append([chunk.id for chunk in chunks])
    return spent, found


def _overlap(ours: list[int], theirs: list[int]) -> float:
    return len(set(ours) & set(theirs)) / max(len(theirs), 1) if theirs or ours else 1.0
