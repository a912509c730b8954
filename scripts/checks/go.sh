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
# This tag only adds files, so one run covers the files of both builds.
step "go vet, with the test exports" "$GO" vet -tags ferrum_test_exports ./...
# This tag selects between two files of one package.
step "go vet, moving tables" "$GO" vet -tags ferrum_moving_tables ./core/internal/offheap
step "staticcheck" build/tools/staticcheck ./...
finish
