#!/usr/bin/env bash
# Builds the adapter to gorgonia.org/cu and runs its parity check over the simulated driver.
#
#   scripts/gorgonia.sh            prints `ok - `, `not ok - ` and `skip - ` lines
#   scripts/gorgonia.sh PROGRAM    only builds the check, without debug information
#
# cu needs the vendor's header (wheel nvidia-cuda-runtime-cu12, in build/venv) and is linked
# with the vendor's library (scripts/real_libcuda.sh). If one of them is missing, the script
# skips the check and reports that. The program can be copied to a machine with a device and
# run there: it loads the libcuda.so.1 of that machine. `make gpu-bundle` includes it.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/checks/steps.sh
GO=${GO:-go}

folder=$PWD/build/test/gorgonia
program=${1:-$folder/parity.test}
header=$(compgen -G "$PWD/build/venv/lib/python3*/site-packages/nvidia/cuda_runtime/include/cuda.h" || true)
library=$(compgen -G "$PWD/build/test/libcuda/usr/lib/*/nvidia/current/libcuda.so.1" || true)
if [ -z "$header" ] || [ -z "$library" ]; then
    echo "skip - the adapter to gorgonia.org/cu: the vendor's header or library (scripts/real_libcuda.sh) is not there"
    exit 0
fi
mkdir -p "$folder/lib"
rm -f "$program"
ln -sf "$library" "$folder/lib/libcuda.so"
# In these variables the folders do not change the flags of cgo. With other flags Go would
# compile the standard library again.
export CGO_ENABLED=1
export C_INCLUDE_PATH=$(dirname "$header")${C_INCLUDE_PATH:+:$C_INCLUDE_PATH}
export LIBRARY_PATH=$folder/lib${LIBRARY_PATH:+:$LIBRARY_PATH}

# Some machines cannot fetch the modules of cu.
if ! why=$(cd drivers/cuda/gorgonia && "$GO" mod download gorgonia.org/cu github.com/google/uuid github.com/pkg/errors 2>&1); then
    echo "skip - the adapter to gorgonia.org/cu: its modules cannot be had: ${why//$'\n'/ }"
    exit 0
fi

if [ $# != 0 ]; then
    program=$(realpath -m "$program")
    (cd drivers/cuda/gorgonia && "$GO" test -tags gorgonia -c -trimpath -ldflags '-s -w' -o "$program" .)
    exit
fi

in_module() { (cd drivers/cuda/gorgonia && "$@"); }

# The simulated driver lacks some calls that cu links and the check does not make. The
# loader looks up each call when it is first made, so the program still starts.
parity() {
    SIMCUDA_BYTES=512M SIMCUDA_LEAKS= LD_LIBRARY_PATH=$PWD/build/test/simcuda/$1 "$program" -test.v -test.timeout 60s
}

step "the adapter to gorgonia.org/cu builds" in_module "$GO" test -tags gorgonia -c -o "$program" .
step "vet of the adapter" in_module "$GO" vet -tags gorgonia .
if [ -x "$program" ]; then
    for generation in 11020 12000 12040 12090; do
        step "parity with cu over the simulated driver $generation" parity "$generation"
    done
fi
finish
