"""Build of the Cython extensions; everything else is in pyproject.toml.

Set ``BRAIN_EXT_DEBUG=1`` for bounds checks and debug symbols, and
``BRAIN_EXT_SANITIZE=address,undefined`` for a sanitizer build.
"""

import os

from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("BRAIN_EXT_DEBUG") == "1"
SANITIZE = os.environ.get("BRAIN_EXT_SANITIZE", "")

compile_args = ["-std=c11", "-O3", "-g0", "-fno-math-errno", "-ffp-contract=off"]
link_args: list[str] = []
if DEBUG or SANITIZE:
    compile_args += ["-O1", "-g", "-fno-omit-frame-pointer"]
if SANITIZE:
    compile_args += [f"-fsanitize={SANITIZE}", "-fno-sanitize-recover=all", "-fno-wrapv"]
    link_args += [f"-fsanitize={SANITIZE}"]


def extension(name: str, *extra_sources: str) -> Extension:
    return Extension(
        f"brain_daemon._ext.{name}",
        [f"_ext/{name}.pyx", *extra_sources],
        depends=["_ext/kernels.h", "_ext/topk.h", "_ext/csr.h", "_ext/push.h"],
        extra_compile_args=compile_args,
        extra_link_args=link_args,
    )


setup(
    ext_modules=cythonize(
        [
            extension("distance", "_ext/kernels.c"),
            extension("vocabulary"),
            extension("wordpiece"),
            extension("bm25"),
            extension("ppr"),
            extension("rrf"),
            extension("framing"),
            extension("excerpt"),
            extension("checksum"),
            extension("stems"),
            extension("words"),
        ],
        language_level=3,
        compiler_directives={
            "boundscheck": DEBUG or bool(SANITIZE),
            "wraparound": False,
            "initializedcheck": DEBUG,
            "cdivision": True,
            # Neither is ours, and the stubs name all that is.
            "auto_pickle": False,
            "autotestdict": False,
        },
    ),
)
