"""Coverage-guided fuzzing of the targets: ``python -m tests.fuzz.run SECONDS [--keep]``.

Inputs that reach new code are collected under ``build/fuzz``. ``--keep`` adds to the corpus in the
repository those of them that it does not make superfluous. An input that breaks a promise ends the
run and is left in ``build/fuzz``: put it into the corpus together with the remedy.
"""

import shlex
import subprocess
import sys
from pathlib import Path

import atheris

CORPUS = Path(__file__).parent / "corpus"
FOUND = Path("build/fuzz").absolute()
MAX_BYTES = 1024
MODULES = ["brain_daemon.params", "brain_daemon.protocol.framing", "brain_daemon.protocol.messages"]

with atheris.instrument_imports(include=MODULES):
    from tests.fuzz.targets import TARGETS
    from tests.fuzz.words import write_dictionary


def main() -> int:
    if sys.argv[1] == "--target":
        become_fuzzer(Path(sys.argv[2]), sys.argv[3:])
    seconds = max(int(sys.argv[1]) // len(TARGETS), 1)
    for name in TARGETS:
        found, kept = FOUND / name, CORPUS / name
        found.mkdir(parents=True, exist_ok=True)
        fuzzer = write_fuzzer(FOUND / f"fuzz-{name}")
        flags = [f"-max_len={MAX_BYTES}", f"-max_total_time={seconds}", "-len_control=0"]
        flags += [f"-dict={write_dictionary(FOUND / 'words')}", f"-artifact_prefix={found}-"]
        flags += ["-timeout=10", "-verbosity=0", "-print_final_stats=1"]
        done = subprocess.run([fuzzer, *flags, found, kept], check=False)
        if done.returncode:
            print(f"{name}: a promise was broken; see {found}-*")
            return done.returncode
        if "--keep" in sys.argv:
            subprocess.run([fuzzer, "-merge=1", "-verbosity=0", kept, found], check=True)
    return 0


def write_fuzzer(path: Path) -> Path:
    """Write the program of a target: to merge, the fuzzer starts itself again and again."""
    command = shlex.join([sys.executable, "-m", "tests.fuzz.run", "--target", str(path)])
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    path.chmod(0o755)
    return path


def become_fuzzer(program: Path, flags: list[str]) -> None:
    """Fuzz one target; this ends the process."""
    atheris.Setup([str(program), *flags], TARGETS[program.name.removeprefix("fuzz-")])
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
