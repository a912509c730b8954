#!/usr/bin/env bash
# Runs the suites of core that support any device with the CUDA driver on the simulated
# vendor driver. Prints events as `go test -json` does. With SOAK=1 it also runs one more
# generation.
#
#   scripts/test_cuda_suites.sh [PACKAGE...]
set -euo pipefail
cd "$(dirname "$0")/.."
GO=${GO:-go}

# one PACKAGE ARGUMENT...  Runs the program of a package in the folder of the package, as
# `go test` does, and prints its events when it ends.
one() {
    local package=$1 log code=0
    shift
    log=$(mktemp "$folder/XXXXXX.log")
    (cd "$package" && "$GO" tool test2json -t -p "ferrum_mem/${package#./}" "$folder/${package##*/}.test" \
        -test.v=test2json "$@") >"$log" 2>&1 || code=1
    flock "$folder" cat "$log"
    return $code
}

if [ "${1:-}" = --one ]; then
    folder=$2
    one "${@: -1}" "${@:3:$#-3}"
    exit
fi

if [ $# -gt 0 ]; then
    packages=("$@")
else
    # The packages whose tests open their devices with drivers/testdevice.
    mapfile -t packages < <(grep -rl '"ferrum_mem/drivers/testdevice"' --include='*_test.go' core | xargs -n1 dirname | sort -u | sed 's#^#./#')
fi
status=0

# Each package is linked once and then runs with every driver. Without debug information
# linking takes half the time.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$GO" test -c -vet=off -ldflags '-s -w' -o "$folder/" "${packages[@]}"

# run GENERATION DEVICES GRANULARITY JITTER CHECKS PACKAGE... [-- ARGUMENT...]
run() {
    local library="$PWD/build/test/simcuda/$1/libcuda.so.1" generation=$1 devices=$2 granularity=$3 jitter=$4 checks=$5
    local -a chosen=() more=()
    shift 5
    while [ $# -gt 0 ] && [ "$1" != -- ]; do chosen+=("$1"); shift; done
    [ $# = 0 ] || more=("${@:2}")
    echo "# driver $generation, $devices devices, pages of $granularity" >&2
    printf '%s\0' "${chosen[@]}" | FERRUM_TEST_DEVICE=cuda:0 FERRUM_CUDA_LIBRARY=$library SIMCUDA_DEVICES=$devices \
        SIMCUDA_GRANULARITY=$granularity SIMCUDA_JITTER_US=$jitter SIMCUDA_BYTES=2G SIMCUDA_LEAKS='' \
        xargs -0 -n 1 -P "$(nproc)" scripts/test_cuda_suites.sh --one "$folder" -test.timeout=300s "-rapid.checks=$checks" \
        "${more[@]}" || status=1
}

# One device has pages of the same size as a real device. Runs with several devices and with
# the oldest driver use small pages, which take less time and test the same behaviour.
run 12090 1 2M 20 8 "${packages[@]}"
run 13000 4 64K 50 20 "${packages[@]}"
[ -z "${SOAK:-}" ] || run 12000 2 64K 50 10 "${packages[@]}"
run 11020 2 64K 20 5 "${packages[@]}"
# Devices that cannot access each other's memory: copies between them go through host memory.
SIMCUDA_WITHOUT=peer run 12090 2 64K 20 20 ./core/manager -- -test.run=TestOnDeviceManagersAgainstByteArrays
exit $status
