#!/usr/bin/env bash
# Format, vet and staticcheck of the Go code.
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
step "staticcheck" build/tools/staticcheck ./...
finish
