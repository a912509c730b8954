# Sourced by the checks: each step says `ok - NAME` or `not ok - NAME` with what
# it printed, the next one runs all the same, and finish gives the exit status.
# scripts/suite.py counts the lines.

failed_steps=0

# step NAME COMMAND...  A command that fails fails the step.
step() {
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then
        echo "ok - $name"
        return
    fi
    echo "not ok - $name"
    sed 's/^/    /' <<<"$output"
    failed_steps=$((failed_steps + 1))
}

# quiet COMMAND...  Fails if the command prints something, as gofmt -l does.
quiet() {
    local output
    output=$("$@" 2>&1) || { echo "$output"; return 1; }
    [ -z "$output" ] || { echo "$output"; return 1; }
}

# tracked GLOB...  The project's files of these kinds, without what was built.
tracked() {
    if git rev-parse --git-dir >/dev/null 2>&1; then
        git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
            if [ -f "$file" ]; then echo "$file"; fi
        done
    else
        local names=() glob
        for glob in "$@"; do names+=(-o -path "./$glob"); done
        find . \( -path ./build -o -name target -o -name .git \) -prune \
            -o -type f \( "${names[@]:1}" \) -print | sed 's|^\./||' | sort
    fi
}

finish() {
    exit $((failed_steps > 0))
}
