"""The measured daemon as a process of its own: start, stop, CPU time, memory."""

import os
import subprocess
import sys
import time
from pathlib import Path

from bench.wire import Wire

START_TIMEOUT_S = 60.0
KIB_PER_MB = 1000 * 1000 / 1024


class Daemon:
    """``brain-daemon serve`` on ``folder``; the store outlives a restart."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.store = folder / "store"
        self.database = self.store / "brain.db"
        self.socket = folder / "brain.sock"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Daemon":
        """Spawn it and wait until its socket takes connections."""
        command = [sys.executable, "-m", "brain_daemon.daemon.main", "serve"]
        command += ["--store", os.fspath(self.store), "--socket", os.fspath(self.socket)]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("BRAIN_")}
        log_path = self.folder / "daemon.log"
        with log_path.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                self.connect().socket.close()
                return self
            except OSError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    self._process.kill()
                    raise RuntimeError(f"no daemon: {log_path.read_text()[-2000:]}") from None
                time.sleep(0.002)

    def stop(self) -> None:
        """SIGTERM, and wait for the drain."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=60)
            self._process = None

    def connect(self) -> Wire:
        return Wire(self.socket)

    @property
    def pid(self) -> int:
        assert self._process is not None, "the daemon is not running"
        return self._process.pid

    def cpu_ns(self) -> int:
        """CPU time of all its threads so far, in nanoseconds.

        Linux lets any process read another's CPU clock: its id is made of the pid's complement
        and CPUCLOCK_SCHED (2). /proc/PID/stat counts in ticks of 10 ms.
        """
        return time.clock_gettime_ns((~self.pid << 3) | 2)

    def memory_mb(self) -> dict[str, float]:
        """Resident memory in MB (1e6 bytes): all of it, and the part that is not file pages."""
        text = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii", errors="replace")
        fields = dict(line.split(":", 1) for line in text.splitlines())
        return {
            name: round(int(fields[field].split()[0]) / KIB_PER_MB, 1)
            for name, field in (("rss_mb", "VmRSS"), ("anonymous_mb", "RssAnon"))
        }
