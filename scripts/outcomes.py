"""Reads the output of a suite: how many tests passed, which tests failed, and their output."""

from __future__ import annotations

import json
import re
from collections import deque
from dataclasses import asdict, dataclass

# Lines of output that are kept for one failure. The summary shows fewer if there are many
# failures.
KEPT_LINES = 200

# A line in which a program reports a crash. The lines after it matter more than the last lines of
# the output.
CRASH = re.compile(
    r"panic: |fatal error: |==\d+==ERROR: |\S+: runtime error: |SIG[A-Z]{3,4}: "
    r"|WARNING: DATA RACE|(SUMMARY|WARNING|FATAL): \w+Sanitizer"
)


@dataclass(frozen=True)
class Failure:
    """A test that failed, with its output as lines without line ends."""

    name: str
    output: list[str]


def excerpt(lines: list[str], most: int) -> list[str]:
    """Returns at most `most` lines: from the first report of a crash, or else the last lines."""
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    if len(lines) <= most:
        return lines
    for number, line in enumerate(lines):
        if CRASH.search(line):
            return lines[number : number + most]
    return lines[len(lines) - most :]


def to_json(failures: list[Failure]) -> str:
    """Writes the failures in the format that from_json reads."""
    return json.dumps([asdict(failure) for failure in failures], indent=1) + "\n"


def from_json(text: str) -> list[Failure]:
    """Reads the failures that to_json wrote."""
    return [Failure(**failure) for failure in json.loads(text)]


class Reader:
    """Counts tests by outcome and collects failures. Each kind of output has a subclass."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0
        self.skipped = 0
        self.failures: list[Failure] = []
        self.recent: deque[str] = deque(maxlen=KEPT_LINES)

    def add(self, outcome: str, number: int = 1) -> None:
        """Adds to the count of one outcome: passed, failed or skipped."""
        setattr(self, outcome, getattr(self, outcome) + number)

    def fail(self, name: str, lines: list[str]) -> None:
        """Stores a failure. Does not count it: some programs print their own count."""
        self.failures.append(Failure(name, excerpt([line.rstrip() for line in lines], KEPT_LINES)))

    def read(self, line: str) -> str:
        """Reads a line of output and returns the part of it to show."""
        self.recent.append(line)
        self.line(line)
        return line

    def line(self, line: str) -> None:
        """Reads a line of output that is shown unchanged."""
        raise NotImplementedError

    def end(self) -> str:
        """Ends the output and returns the held lines that are still to be shown."""
        return ""


class Go(Reader):
    """Reads the events of `go test -json`. Holds a test's output and shows it if the test fails.

    Top-level tests count. A package also counts as one failure if it does not build, if it ends
    while a test runs, or if it fails although none of its tests failed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[tuple[str, str], list[str]] = {}
        self.parts: dict[tuple[str, str], list[str]] = {}
        self.around: dict[str, list[str]] = {}
        self.blamed: set[str] = set()

    def read(self, line: str) -> str:
        """Reads one event. A line that is not JSON is shown unchanged."""
        try:
            event = json.loads(line)
        except ValueError:
            self.recent.append(line)
            return line
        action, test = event.get("Action"), event.get("Test", "")
        package, output = event.get("Package", ""), event.get("Output", "")
        if action == "output" and test:
            self.held.setdefault((package, test), []).append(output)
        elif action in ("output", "build-output"):
            if not re.match(r"(=== |PASS$|\?\s.*no test files)", output):
                self.recent.append(output)
                self.around.setdefault(package or event.get("ImportPath", ""), []).append(output)
                return str(output)
        elif action in ("pass", "fail", "skip"):
            if test:
                return self.end_of_test(action, package, test)
            return self.end_of_package(action, package, event.get("FailedBuild", ""))
        return ""

    def end_of_test(self, action: str, package: str, test: str) -> str:
        """Counts a test that ended, and returns its held output if it failed or was skipped."""
        held = self.held.pop((package, test), [])
        top, _, part = test.partition("/")
        if part:
            if action == "fail":
                self.parts.setdefault((package, top), []).extend(held)
            return "".join(held) if action == "fail" else ""
        parts = self.parts.pop((package, top), [])
        self.add({"pass": "passed", "fail": "failed", "skip": "skipped"}[action])
        if action == "fail":
            self.blamed.add(package)
            self.fail(f"{package} {test}", parts + held)
        return "" if action == "pass" else "".join(held)

    def end_of_package(self, action: str, package: str, build: str) -> str:
        """Counts a failed package that did not build, or ended early, or had no failed test."""
        held = {test: self.held.pop((p, test)) for p, test in list(self.held) if p == package}
        around = self.around.pop(package, [])
        if action == "fail" and build:
            self.add("failed")
            self.fail(f"{package}: does not build", self.around.get(build, []) + around)
        elif action == "fail" and held:
            # Blame the tests whose output reports a crash. Tests that only waited have just the
            # line that they began.
            said = [t for t, lines in held.items() if any(CRASH.search(x) for x in lines)]
            self.add("failed")
            self.fail(
                f"{package}: ended while it ran {', '.join(said or held)}",
                [line for test in said or held for line in held[test]] + around,
            )
        elif action == "fail" and package not in self.blamed:
            self.add("failed")
            self.fail(package, around)
        self.blamed.discard(package)
        return (
            "".join(line for lines in held.values() for line in lines) if action == "fail" else ""
        )

    def end(self) -> str:
        """Ends the packages for which no end was reported because the command was stopped."""
        packages = sorted({package for package, _ in self.held})
        return "".join(self.end_of_package("fail", package, "") for package in packages)


class Programs(Reader):
    """Reads C programs run by run_programs.sh: cmocka, GoogleTest, or `N passed, N failed`."""

    def __init__(self) -> None:
        super().__init__()
        self.program = ""
        self.lines: list[str] = []
        self.before = 0

    def line(self, line: str) -> None:
        """Reads the name of a program, its exit status if it failed, or a line of its output."""
        if m := re.match(r"# (\S+)$", line):
            self.program, self.lines, self.before = m[1], [], self.failed
        elif m := re.match(r"# (\S+): exit status \d+$", line):
            self.lines.append(line)
            self.end_of_program()
        else:
            self.lines.append(line)
            self.count(line)

    def count(self, line: str) -> None:
        """Adds the numbers of a line that has counts."""
        if m := re.match(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", line):
            for outcome, number in zip(("passed", "failed", "skipped"), m.groups("0"), strict=True):
                self.add(outcome, int(number))
        if m := re.match(r"\[  (PASSED|FAILED|SKIPPED)  ?\] (?:\S+: )?(\d+) test", line):
            self.add(m[1].lower(), int(m[2]))

    def end_of_program(self) -> None:
        """Stores a failure for each failed case of a program, or one for the whole program."""
        name = self.program.removeprefix("build/test/")
        begun, case, found = 0, "", False
        for number, line in enumerate(self.lines):
            if m := re.match(r"\[ RUN      \] (\S+)", line):
                begun, case = number, m[1]
            elif re.match(r"\[       OK \]|\[  SKIPPED \]", line):
                case = ""
            elif case and re.match(r"\[  FAILED  \] ", line):
                self.fail(f"{name} {case}", self.lines[begun : number + 1])
                case, found = "", True
        if case or not found:
            self.fail(f"{name} {case}".strip(), self.lines[begun:] if case else self.lines)
        # A program that a sanitizer or a signal ended has printed no count.
        if case or self.failed == self.before:
            self.add("failed")
        self.lines = []


class Pytest(Reader):
    """Reads pytest: its closing line, `3 passed, 1 failed in 0.1s`, and FAILURES and ERRORS."""

    WORDS = {  # noqa: RUF012
        "passed": "passed",
        "xfailed": "passed",
        "failed": "failed",
        "xpassed": "failed",
        "error": "failed",
        "errors": "failed",
        "skipped": "skipped",
    }

    def __init__(self) -> None:
        super().__init__()
        self.inside = False
        self.name = ""
        self.lines: list[str] = []

    def line(self, line: str) -> None:
        """Reads section titles, which stand between `=`, and test names, between `_`."""
        if m := re.match(r"=+ (.+?) =+$", line):
            self.flush()
            self.inside = m[1] in ("FAILURES", "ERRORS")
        elif self.inside and (m := re.match(r"_{2,} (.+?) _{2,}$", line)):
            self.flush()
            self.name = m[1]
        elif self.name:
            self.lines.append(line)
        numbers = r"\d+ (passed|failed|skipped|errors?|xfailed|xpassed|deselected)"
        if re.match(rf"(=+ )?{numbers}.* in [\d.]+s", line):
            self.inside = False
            self.flush()
            for number, word in re.findall(r"(\d+) (\w+)", line.split(" in ")[0]):
                if word in self.WORDS:
                    self.add(self.WORDS[word], int(number))

    def flush(self) -> None:
        """Stores the failed test whose output has just ended."""
        if self.name:
            self.fail(self.name, self.lines)
        self.name, self.lines = "", []

    def end(self) -> str:
        """Stores the failed test whose output was still being read."""
        self.flush()
        return ""


class Cargo(Reader):
    """Reads the `test result:` line of each test program, and the output of its failed tests."""

    def __init__(self) -> None:
        super().__init__()
        self.name = ""
        self.lines: list[str] = []

    def line(self, line: str) -> None:
        """`---- NAME stdout ----` begins a failed test; `failures:` begins a list of names."""
        if m := re.match(r"test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", line):
            self.add("passed", int(m[1]))
            self.add("failed", int(m[2]))
            self.add("skipped", int(m[3]))
        if m := re.match(r"---- (.+?)(?: stdout)? ----$", line):
            self.end()
            self.name = m[1]
        elif line.rstrip() == "failures:":
            self.end()
        elif self.name:
            self.lines.append(line)

    def end(self) -> str:
        """Stores the failed test whose output has just ended."""
        if self.name:
            self.fail(self.name, self.lines)
        self.name, self.lines = "", []
        return ""


class Steps(Reader):
    """Reads the lines `ok - NAME`, `not ok - NAME` and `skip - NAME` of scripts.

    A script prints the output of a step before the line of the step, or indented after it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.name = ""
        self.lines: list[str] = []

    def line(self, line: str) -> None:
        """Reads the line of a step, or a line of its output."""
        if self.name and not line.startswith("    "):
            self.end()
        if m := re.match(r"(ok|not ok|skip) - (.*)", line):
            self.add({"ok": "passed", "not ok": "failed", "skip": "skipped"}[m[1]])
            if m[1] == "not ok":
                self.name = m[2]
            else:
                self.lines = []
        else:
            self.lines.append(line)

    def end(self) -> str:
        """Stores the failed step whose output has just ended."""
        if self.name:
            self.fail(self.name, self.lines)
            self.name, self.lines = "", []
        return ""


READERS: dict[str, type[Reader]] = {
    "go": Go,
    "c": Programs,
    "pytest": Pytest,
    "cargo": Cargo,
    "steps": Steps,
}
