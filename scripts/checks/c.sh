#!/usr/bin/env bash
# Checks the format of the C and C++ code. Checks that each public header compiles alone and
# included twice, in every language version that it supports, and that the C half of capi
# compiles without a warning.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/checks/steps.sh

out=build/test/header
warnings=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
mkdir -p "$out"

mapfile -t c_files < <(tracked '*.c' '*.h' '*.cpp' '*.hpp')

# Prints only the names of the files. `make format` shows and repairs the rest.
formatted() {
    local output
    output=$(build/venv/bin/clang-format --dry-run -Werror "${c_files[@]}" 2>&1) && return
    sed -n 's/^\([^ :]*\):.*error: code should be clang-formatted.*/\1/p' <<<"$output" | sort | uniq -c
    echo "places to format: make format"
    return 1
}
step "clang-format" formatted

# compile LANGUAGE STANDARD FILE
compile() {
    local compiler=${CC:-cc}
    [ "$1" = c ] || compiler=${CXX:-c++}
    "$compiler" -x "$1" "-std=$2" "${warnings[@]}" -Iinclude -fsyntax-only "$3"
}

"${PYTHON:-python3}" scripts/header_probe.py include/ferrum_mem.h >"$out/probe.c"
step "every FERRUM_*_INIT macro belongs to a struct and is tried" \
    grep -q 'FERRUM_CONFIG_INIT' "$out/probe.c"
for standard in c11 c17; do
    step "ferrum_mem.h alone and twice, $standard" compile c "$standard" "$out/probe.c"
done
for standard in c++11 c++17 c++20; do
    step "ferrum_mem.h alone and twice, $standard" compile c++ "$standard" "$out/probe.c"
done
for header in include/ferrum_mem/*.h; do
    printf '#include "%s"\nint main(void) { return 0; }\n' "${header#include/}" >"$out/probe.c"
    step "${header#include/} alone, c11" compile c c11 "$out/probe.c"
    step "${header#include/} alone, c++11" compile c++ c++11 "$out/probe.c"
done
# Compiles each C++ header alone, in parallel on all processors. Each header of calls/ is the
# first include of one of these headers, or of ferrum_mem.hpp, so it is compiled first there.
cpp_headers() {
    local header first
    first=$(grep -hm1 '^#include' include/ferrum_mem/*.hpp include/ferrum_mem.hpp)
    for header in include/ferrum_mem/calls/*.hpp; do
        [[ $first == *"calls/${header##*/}\""* ]] || { echo "$header: no header includes it first"; return 1; }
    done
    for header in include/ferrum_mem/*.hpp; do echo "$header"; done |
        xargs -P "$(nproc)" -I{} sh -c '"$@" -include "$0" -fsyntax-only -x c++ /dev/null || { echo "$0"; exit 255; }' {} \
            "${CXX:-c++}" -std=c++17 "${warnings[@]}" -Iinclude
}
step "each C++ header alone" cpp_headers

# The initialisers and the C++ layer compile in programs that use stricter warnings than this
# project. The probe includes each header twice.
"${PYTHON:-python3}" scripts/header_probe.py include/ferrum_mem.hpp >"$out/probe.cpp"
strict=(-Iinclude -fsyntax-only -Wall -Wextra -Wpedantic -Wshadow -Wold-style-cast -Wconversion -Wsign-conversion -Werror)
for standard in c++17 c++20; do
    step "every initialiser and call without a warning, g++ $standard" g++ "-std=$standard" "${strict[@]}" -Wuseless-cast "$out/probe.cpp"
    step "every initialiser and call without a warning, clang++ $standard" clang++ "-std=$standard" "${strict[@]}" "$out/probe.cpp"
done

# cgo generates the header of the Go exports, as in the build. The generated folder is named
# _cgo because the go command skips folders that start with _.
capi_warnings() {
    local file
    local -a go_files
    mapfile -t go_files < <(cd capi && "${GO:-go}" list -tags ferrum_test_exports -f '{{range .CgoFiles}}{{println .}}{{end}}' | grep .)
    rm -rf "$out/_cgo"
    mkdir -p "$out/_cgo"
    (cd capi && "${GO:-go}" tool cgo -objdir "../$out/_cgo" \
        -- -I../include -D_GNU_SOURCE "${go_files[@]}") || return 1
    for file in capi/*.c capi/*/*.c; do
        "${CC:-cc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wmissing-prototypes -Wstrict-prototypes -Werror \
            -Iinclude -Icapi "-I$out/_cgo" -fsyntax-only "$file" || return 1
    done
}
step "capi compiles without a warning" capi_warnings
finish
