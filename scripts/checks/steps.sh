# Functions for the check scripts. Each step prints `ok - NAME`, or `not ok - NAME` with the
# output of the step. A failed step does not stop the script; finish returns the exit
# status. scripts/suite.py counts the lines.

failed_steps=0

# step NAME COMMAND...  Runs the command. The step fails if the command fails.
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

# quiet COMMAND...  Fails if the command fails or prints something, as gofmt -l does.
quiet() {
    local output
    output=$("$@" 2>&1) || { echo "$output"; return 1; }
    [ -z "$output" ] || { echo "$output"; return 1; }
}

# tracked GLOB...  Lists the project's files that match, without build outputs.
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
