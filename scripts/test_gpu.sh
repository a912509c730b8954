#!/usr/bin/env bash
# The GPU proof: exit 0 only if the suite ran on a GPU and passed.
#
#   scripts/test_gpu.sh COMMAND [DEVICE]
set -euo pipefail
cd "$(dirname "$0")/.."

command=$1 device=${2:-}
backends=$("$command" devices --json)
"$command" devices
gpu=$("${PYTHON:-python3}" -c '
import json, sys
found = json.load(sys.stdin)
backends = found["backends"]
print(" ".join(b["backend"] for b in backends if b["backend"] != "cpu"))
' <<<"$backends")
if [ -z "$gpu" ]; then
    echo "test-gpu: this build has no backend but cpu, so nothing was proved${device:+ on $device}." >&2
    exit 1
fi
echo "test-gpu: this build has the backends $gpu, but no suite that runs on a GPU, so nothing was proved." >&2
exit 1
