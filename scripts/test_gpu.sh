#!/usr/bin/env bash
# The GPU proof: runs parts on a GPU with what `make gpu-bundle` has built, and
# ends with 0 only if each of them ran there and passed.
#
#   [DEVICE=cuda:0] scripts/test_gpu.sh PART...
#
# Needs neither Go nor a compiler nor a network. FERRUM_CUDA_LIBRARY names the
# driver's library; results go to docs/results, or where GPU_RESULTS says.
set -euo pipefail
cd "$(dirname "$0")/.."

status=0
for part in "$@"; do
    case $part in
    conformance | torch | cupy | bench) command=(tests/gpu/"$part"_part.py) ;;
    differential) command=(tests/gpu/differential.py run) ;;
    *)
        echo "test-gpu: PART is conformance, differential, torch, cupy or bench, not $part" >&2
        exit 2
        ;;
    esac
    echo "== $part"
    # Whatever hangs, a part ends.
    timeout --kill-after=10 480 "${PYTHON:-python3}" "${command[@]}" && continue
    echo "test-gpu: $part did not pass" >&2
    status=1
done
exit $status
