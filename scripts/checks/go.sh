#!/usr/bin/env bash
# Checks the format of the Go code and runs vet and staticcheck.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/checks/steps.sh
GO=${GO:-go}

mapfile -t go_files < <(tracked '*.go')
step "gofmt" quiet gofmt -l "${go_files[@]}"
step "go.mod is tidy" "$GO" mod tidy -diff
step "go.sum is complete" "$GO" mod verify
step "go vet" "$GO" vet ./...
step "go vet, moving tables" "$GO" vet -tags ferrum_moving_tables ./core/internal/...
step "go vet, test exports" "$GO" vet -tags ferrum_test_exports ./capi
step "go vet, host backend for darwin" env GOOS=darwin CGO_ENABLED=0 "$GO" vet ./drivers/host/...
# A build for Windows must fail with exactly one error, which states the reason.
refuses_windows() {
    local said
    said=$(GOOS=windows CGO_ENABLED=0 "$GO" build ./drivers/host 2>&1) && return 1
    [ "$(grep -c '^drivers/' <<<"$said")" = 1 ] &&
        grep -q needs_a_unix_system_and_does_not_build_for_windows <<<"$said"
}
step "the host backend says that it does not build for windows" refuses_windows
step "staticcheck" build/tools/staticcheck ./...
finish
