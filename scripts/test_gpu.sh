#!/usr/bin/env bash
# The GPU proof: runs parts on a GPU with what `make gpu-bundle` has built, and
# ends with 0 only if each of them ran there and passed, or was left out because
# its framework is not installed, and one at least ran.
#
#   [DEVICE=cuda:0] scripts/test_gpu.sh [PART...]     without a PART: all of them
#
# Needs neither Go nor a compiler nor a network, and neither make nor a package of
# Python: bash, Python 3.10 or later, the driver and glibc 2.34 or later will do.
# FERRUM_CUDA_LIBRARY names the driver's library; results go to docs/results, or where
# FERRUM_GPU_RESULTS says.
set -euo pipefail
cd "$(dirname "$0")/.."

absent=77
[ $# != 0 ] || set -- conformance torch differential cupy bench
for part in "$@"; do
    case $part in
    conformance | differential | torch | cupy | bench) ;;
    *)
        echo "test-gpu: PART is conformance, differential, torch, cupy or bench, not $part" >&2
        exit 2
        ;;
    esac
done
python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    echo "test-gpu: Python 3.10 or later is needed; $python is $("$python" -V 2>&1)" >&2
    exit 1
fi
status=0 ran=0
for part in "$@"; do
    command=(tests/gpu/"$part"_part.py)
    [ "$part" != differential ] || command=(tests/gpu/differential.py run)
    echo "== $part"
    # Whatever hangs, a part ends, in less than eight minutes.
    code=0
    timeout --kill-after=5 470 "$python" "${command[@]}" || code=$?
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
