#!/usr/bin/env bash
# Runs parts of the GPU tests on a GPU with the files that `make gpu-bundle` has built.
# Exits with 0 only if at least one part ran on the GPU and every part passed. A part whose
# framework is not installed may be left out.
#
#   [DEVICE=cuda:0] scripts/test_gpu.sh [PART...]     without a PART: all of them
#
# Needs bash, Python 3.10 or later, the vendor driver and glibc 2.34 or later. Does not need
# Go, a compiler, make, a network or any Python package. FERRUM_CUDA_LIBRARY names the
# vendor driver's library. Results are written to docs/results, or to FERRUM_GPU_RESULTS.
set -euo pipefail
cd "$(dirname "$0")/.."

absent=77
[ $# != 0 ] || set -- conformance torch differential cupy weights onnx_runtime bench
for part in "$@"; do
    case $part in
    conformance | differential | torch | cupy | weights | onnx_runtime | bench) ;;
    *)
        echo "test-gpu: PART is conformance, differential, torch, cupy, weights, onnx_runtime or bench, not $part" >&2
        exit 2
        ;;
    esac
done
python=${PYTHON:-python3}
[ -d build/gpu ] || ! [ -f build/gpu.tar.xz ] || tar -xJf build/gpu.tar.xz -C build
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    echo "test-gpu: Python 3.10 or later is needed; $python is $("$python" -V 2>&1)" >&2
    exit 1
fi
status=0 ran=0
for part in "$@"; do
    command=(tests/gpu/"$part"_part.py)
    [ "$part" != differential ] || command=(tests/gpu/differential.py run)
    echo "== $part"
    # A part that hangs is stopped.
    code=0
    timeout --kill-after=5 $((${FERRUM_GPU_SECONDS:-450} + 20)) "$python" "${command[@]}" || code=$?
    case $code in
    0) ran=$((ran + 1)) ;;
    "$absent") echo "test-gpu: $part was left out" >&2 ;;
    *)
        echo "test-gpu: $part did not pass" >&2
        status=1
        ;;
    esac
done
if [ "$ran" = 0 ] && [ "$status" = 0 ]; then
    echo "test-gpu: nothing ran, so nothing was proved" >&2
    status=1
fi
exit $status
