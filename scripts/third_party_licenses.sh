#!/usr/bin/env bash
# Prints the licences of the software that the library and the command contain: the Go
# runtime and the linked modules.
set -euo pipefail
cd "$(dirname "$0")/.."
GO=${GO:-go}

entry() {
    printf '%s\n%s\n\n' "$1" "$(printf '%s' "$1" | sed 's/./=/g')"
    cat "$2"
    printf '\n\n'
}

license_of() {
    local file
    for file in "$1"/LICENSE "$1"/LICENSE.txt "$1"/LICENSE.md "$1"/COPYING "$1"/UNLICENSE; do
        if [ -f "$file" ]; then echo "$file"; return; fi
    done
    echo "no licence file in $1" >&2
    return 1
}

# go_license  Finds the licence of the toolchain, which some distributions move elsewhere.
go_license() {
    local root file
    root=$("$GO" env GOROOT)
    for file in "$root"/LICENSE /usr/share/doc/golang*-go/copyright /usr/share/licenses/go*/LICENSE; do
        if [ -f "$file" ]; then echo "$file"; return; fi
    done
    echo "no licence file of Go in $root" >&2
    return 1
}

echo "libferrum_mem.so and ferrum-mem contain parts of the following software."
echo
license=$(go_license)
entry "Go $("$GO" env GOVERSION)" "$license"
"$GO" list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}	{{.Dir}}{{end}}{{end}}' ./capi ./cmd/... |
    sort -u | while IFS=$'\t' read -r module folder; do
    license=$(license_of "$folder")
    entry "$module" "$license"
done
