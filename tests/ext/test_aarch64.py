"""kernels.c for AArch64: it compiles without a warning, and its tiers agree under QEMU."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "_ext" / "kernels.c"
HARNESS = Path(__file__).with_name("tiers.c")
FLAGS = ["-std=c11", "-O3", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror"]
FLAGS += [f"-I{ROOT / '_ext'}"]


def tool(*names: str) -> str:
    """The first of the named programs that is installed; skip without any."""
    for name in names:
        if path := shutil.which(name):
            return path
    pytest.skip(f"none of {', '.join(names)} is installed")


def test_kernels_compile_for_aarch64(tmp_path):
    compiler = tool("aarch64-linux-gnu-gcc")
    output = tmp_path / "kernels.s"
    subprocess.run([compiler, *FLAGS, "-S", KERNELS, "-o", output], check=True)
    assembly = output.read_text()
    for instruction in ("sdot", "sadalp", "cnt"):
        assert f"\t{instruction}\t" in assembly


@pytest.mark.parametrize("machine", ["native", "aarch64"])
def test_tiers_agree_in_c(tmp_path, machine):
    emulator: list[str] = []
    if machine == "native":
        compiler = tool("cc", "gcc")
        options = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    else:
        compiler = tool("aarch64-linux-gnu-gcc")
        emulator = [tool("qemu-aarch64-static", "qemu-aarch64")]
        options = ["-static"]
    program = tmp_path / "tiers"
    subprocess.run([compiler, *FLAGS, *options, KERNELS, HARNESS, "-o", program], check=True)
    done = subprocess.run([*emulator, program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    tiers = done.stdout.split()
    assert tiers[0] == "scalar"
    if machine == "aarch64":
        assert tiers == ["scalar", "neon", "dotprod"]
