#!/usr/bin/env bash
# Runs the suites of core that support any device with the CUDA driver on the simulated
# vendor driver. Prints the output of `go test -json`. With SOAK=1 it also runs one more
# generation.
#
#   scripts/test_cuda_suites.sh [PACKAGE...]
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# -gt 0 ]; then
    packages=("$@")
else
    # The packages whose tests open their devices with drivers/testdevice.
    mapfile -t packages < <(grep -rl '"ferrum_mem/drivers/testdevice"' --include='*_test.go' core | xargs -n1 dirname | sort -u | sed 's#^#./#')
fi
status=0

# run GENERATION DEVICES GRANULARITY JITTER CHECKS PACKAGE...
run() {
    local library="$PWD/build/test/simcuda/$1/libcuda.so.1"
    echo "# driver $1, $2 devices, pages of $3" >&2
    FERRUM_TEST_DEVICE=cuda:0 FERRUM_CUDA_LIBRARY=$library SIMCUDA_DEVICES=$2 SIMCUDA_GRANULARITY=$3 \
        SIMCUDA_JITTER_US=$4 SIMCUDA_BYTES=2G SIMCUDA_LEAKS='' \
        "${GO:-go}" test -json -vet=off -count=1 -timeout=300s "${@:6}" -rapid.checks="$5" || status=1
}

# One device has pages of the same size as a real device. Runs with several devices and with
# the oldest driver use small pages, which take less time and test the same behaviour.
run 12090 1 2M 20 8 "${packages[@]}"
run 13000 4 64K 50 20 "${packages[@]}"
[ -z "${SOAK:-}" ] || run 12000 2 64K 50 10 "${packages[@]}"
run 11020 2 64K 20 5 "${packages[@]}"
# Devices that cannot access each other's memory: copies between them go through host memory.
SIMCUDA_WITHOUT=peer run 12090 2 64K 20 20 ./core/manager -run 'TestOnDeviceManagersAgainstByteArrays'
exit $status
