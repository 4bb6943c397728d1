"""``python -m bench``: every benchmark, one table, one JSON file."""

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import durable, load, micro, ping, report, startup
from bench.corpus import Corpus
from bench.daemon import Daemon

REST_S = 3  # after the last write: the daemon gives back what it freed
# Chunks, and how many questions of each block the SQL baseline answers too.
SIZES = {"10k": (10_000, 60), "100k": (100_000, 20)}


def main() -> None:
    """Run; the parts that a part depends on run as well."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--small", action="store_true", help="stop at 10k chunks")
    parser.add_argument("--no-kernels", action="store_true", help="skip the kernels")
    parser.add_argument("--no-file", action="store_true", help="write no JSON")
    parser.add_argument("--folder", type=Path, help="where the temporary store goes")
    options = parser.parse_args()
    started = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="brain-bench-", dir=options.folder))
    try:
        run = _run(folder, small=options.small, kernels=not options.no_kernels)
    finally:
        shutil.rmtree(folder)
    run["took_s"] = round(time.monotonic() - started, 1)
    report.show(run)
    if not options.no_file:
        print(f"written to {report.write(run).relative_to(report.ROOT)}")


def _run(folder: Path, *, small: bool, kernels: bool) -> dict[str, Any]:
    run: dict[str, Any] = {"environment": report.environment(folder), "sizes": {}}
    _say("reading the corpus")
    corpus = Corpus()
    run["corpus"] = {
        "digest": corpus.digest,
        "sentences": len(corpus.sentences),
        "source_words": corpus.source_words,
    }
    if kernels:
        _say("kernels")
        run["kernels"] = micro.measure_kernels(corpus)
    daemon = Daemon(folder / "main").start()
    copy: Daemon | None = None
    try:
        _say("ping")
        run["ping"] = ping.compare_ping(daemon, folder)
        n_stored = 0
        for size, (n_chunks, n_baseline) in SIZES.items():
            _say(f"ingest up to {size}")
            figures = {"ingest": load.ingest(daemon, corpus, n_stored, n_chunks)}
            n_stored = n_chunks
            figures["memory_after_ingest"] = daemon.memory_mb()
            time.sleep(REST_S)
            figures["memory_at_rest"] = daemon.memory_mb()
            _say(f"recall at {size}")
            figures["recall"] = load.compare_recall(daemon, corpus, n_chunks, n_baseline)
            _say(f"start-up at {size}")
            figures["startup"] = startup.measure_startup(daemon, "Which file does the option read?")
            figures["memory_after_restart"] = daemon.memory_mb()
            run["sizes"][size] = figures
            if copy is None:
                daemon.stop()
                shutil.copytree(daemon.store, folder / "copy" / "store")
                copy = Daemon(folder / "copy").start()
                _say("durable writes on a copy of that store")
                run["durable"] = durable.measure_durable(copy, corpus)
                copy.stop()
                shutil.rmtree(copy.folder)
                daemon.start()
            if small:
                break
    finally:
        daemon.stop()
        if copy is not None:
            copy.stop()
    return run


def _say(text: str) -> None:
    print(f"… {text}", flush=True)


if __name__ == "__main__":
    main()
