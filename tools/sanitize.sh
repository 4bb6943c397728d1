#!/usr/bin/env bash
# Build the extensions with AddressSanitizer and UBSan in a copy of the tree and run the tests that
# exercise them there. Usage: tools/sanitize.sh PYTHON
set -euo pipefail
python=$1
cd "$(dirname "$0")/.."
copy=build/sanitize
rm -rf "$copy"
mkdir -p "$copy"
git ls-files -z | xargs -0 tar -c | tar -x -C "$copy"
cd "$copy"

BRAIN_EXT_SANITIZE=address,undefined "$python" setup.py -q build_ext --inplace -j "$(nproc)" >build.log 2>&1 ||
    { cat build.log && exit 1; }
for source in _ext/*.pyx; do
    case $(ldd "${source%.pyx}".*.so) in
    *libasan*) ;;
    *) echo "$source was not built with the sanitizers" && exit 1 ;;
    esac
done

# Python's own allocator would hide overruns; leaks at exit are the interpreter's.
export LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
export PYTHONMALLOC=malloc PYTHONPATH=$PWD
exec "$python" -m pytest -q -s -p no:cacheprovider --timeout 600 \
    --ignore tests/ext/test_aarch64.py tests/ext tests/fuzz
