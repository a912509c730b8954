"""Suites that fail in every possible way, and how the summary reports them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

GO_MODULE = {
    "go.mod": "module example\n\ngo 1.24\n",
    "builds/a_test.go": """package builds
import "testing"
func TestX(t *testing.T) { x := 1 }
""",
    "exits/a_test.go": """package exits
import ("fmt"; "os"; "testing")
func TestMain(m *testing.M) { m.Run(); fmt.Println("three blocks leaked"); os.Exit(1) }
func TestX(t *testing.T) {}
""",
    "fails/a_test.go": """package fails
import "testing"
func TestGood(t *testing.T) { t.Log("not shown") }
func TestPassedOver(t *testing.T) { t.Skip("no device") }
func TestBad(t *testing.T) {
	t.Run("one", func(t *testing.T) { t.Error("wrong one") })
	t.Run("two", func(t *testing.T) { t.Log("a good part") })
}
""",
    "hangs/a_test.go": """package hangs
import "testing"
func TestWaits(t *testing.T) { t.Parallel() }
func TestHangs(t *testing.T) { t.Log("begun"); make(chan int) <- 1 }
""",
    "panics/a_test.go": """package panics
import "testing"
func TestElsewhere(t *testing.T) { go func() { panic("in a goroutine") }(); make(chan int) <- 1 }
""",
}

CMOCKA = """
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
static const char *how;
static void good(void **state) { (void)state; }
static void unequal(void **state) { (void)state; assert_int_equal(strcmp(how, "case"), 1); }
static void crash(void **state) {
    (void)state;
    char *three = malloc(3);
    volatile size_t at = strcmp(how, "crash") == 0 ? 3 : 0;
    three[at] = 1;
    free(three);
    if (strcmp(how, "abort") == 0) { abort(); }
}
int main(void) {
    how = getenv("HOW");
    const struct CMUnitTest good_tests[] = {cmocka_unit_test(good), cmocka_unit_test(crash)};
    const struct CMUnitTest tests[] = {cmocka_unit_test(good), cmocka_unit_test(unequal)};
    return strcmp(how, "case") == 0 ? cmocka_run_group_tests(tests, NULL, NULL)
                                    : cmocka_run_group_tests(good_tests, NULL, NULL);
}
"""

GTEST = """
Running main() from gtest_main.cc
[==========] Running 2 tests from 1 test suite.
[ RUN      ] Pool.Grows
pool.cpp:2: Failure
Expected equality of these values:
[  FAILED  ] Pool.Grows (0 ms)
[ RUN      ] Pool.Ends
[       OK ] Pool.Ends (0 ms)
[  PASSED  ] 1 test.
[  FAILED  ] 1 test, listed below:
[  FAILED  ] Pool.Grows

 1 FAILED TEST
"""

CARGO = """
running 2 tests
test a::b ... FAILED
test a::c ... ok

failures:

---- a::b stdout ----
thread 'a::b' panicked at src/lib.rs:3:5:
assertion `left == right` failed

failures:
    a::b

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""


class Suites:
    """A folder with the results of its own suites."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def script(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, ROOT / "scripts" / words[0], *words[1:]],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def run(self, name: str, kind: str, *command: str | Path, timeout: float = 280) -> str:
        """Runs a suite that must fail, and returns its output."""
        options = ["--timeout", str(timeout), "--"]
        done = self.script("suite.py", name, kind, *options, *map(str, command))
        assert done.returncode != 0, done.stdout
        assert not done.stderr
        return done.stdout

    def counts(self, name: str) -> list[int]:
        """Returns the numbers of passed, failed and skipped tests."""
        return [int(n) for n in (self.folder / "build/test/results" / name).read_text().split()[:3]]

    def summary(self, *names: str) -> list[str]:
        done = self.script("summary.py", "--closing-line", *names)
        assert done.returncode == 1
        assert not done.stderr
        return done.stdout.splitlines()

    def file(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


@pytest.fixture
def suites(tmp_path: Path) -> Suites:
    return Suites(tmp_path)


def names(lines: list[str]) -> list[str]:
    """Returns the names of failed tests, which stand before the closing line."""
    assert lines[-1].count("failed") == 1
    assert lines[-2] == ""
    assert lines.count("failed:") == 1
    return [line.strip() for line in lines[lines.index("failed:") + 1 : -2]]


def shown(lines: list[str], name: str) -> str:
    """Returns the output that the summary shows for one failure."""
    at = lines.index(f"--- failed: {name}") + 1
    end = at
    while end < len(lines) and lines[end].startswith("    "):
        end += 1
    return "\n".join(lines[at:end])


def test_go(suites: Suites) -> None:
    for name, text in GO_MODULE.items():
        suites.file(name, text)
    go = os.environ.get("GO", "go")
    packages = ["./builds", "./exits", "./fails", "./panics"]
    output = suites.run("test-go", "go", go, "test", "-json", "-vet=off", *packages)
    # A run of its own, so that the short time limit does not apply to the other packages.
    suites.run("test-hangs", "go", go, "test", "-json", "-vet=off", "-timeout=1s", "./hangs")
    assert "wrong one" in output
    assert "no device" in output
    assert "not shown" not in output
    assert "a good part" not in output
    assert suites.counts("test-go") == [2, 4, 1]
    assert suites.counts("test-hangs") == [0, 1, 0]
    lines = suites.summary("test-go", "test-hangs")
    assert lines[-1] == "2 passed, 5 failed, 1 skipped"
    assert sorted(names(lines)) == [
        "test-go: example/builds: does not build",
        "test-go: example/exits",
        "test-go: example/fails TestBad",
        "test-go: example/panics: ended while it ran TestElsewhere",
        "test-hangs: example/hangs: ended while it ran TestHangs",
    ]
    assert "declared and not used: x" in shown(lines, "test-go: example/builds: does not build")
    assert "three blocks leaked" in shown(lines, "test-go: example/exits")
    bad = shown(lines, "test-go: example/fails TestBad")
    assert "wrong one" in bad
    assert "a good part" not in bad
    hung = shown(lines, "test-hangs: example/hangs: ended while it ran TestHangs")
    assert "timed out after 1s" in hung
    panic = shown(lines, "test-go: example/panics: ended while it ran TestElsewhere")
    assert "panic: in a goroutine" in panic


@pytest.fixture(scope="module")
def cmocka(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("cmocka")
    (folder / "a.c").write_text(CMOCKA)
    source, program = str(folder / "a.c"), str(folder / "test_a")
    compiler = [os.environ.get("CC", "cc"), "-g", "-fsanitize=address"]
    subprocess.run([*compiler, source, "-o", program, "-lcmocka"], check=True, timeout=280)
    return folder / "test_a"


@pytest.mark.parametrize(
    ("how", "counts", "name", "part"),
    [
        ("case", [1, 1, 0], " unequal", "!= 0x1"),
        ("crash", [0, 1, 0], " crash", "ERROR: AddressSanitizer: heap-buffer-overflow"),
        ("abort", [0, 1, 0], " crash", "exit status 134"),
    ],
)
def test_c(suites: Suites, cmocka: Path, how: str, counts: list[int], name: str, part: str) -> None:
    programs = ROOT / "scripts" / "run_programs.sh"
    suites.run("test-c", "c", "env", f"HOW={how}", programs, cmocka)
    assert suites.counts("test-c") == counts
    lines = suites.summary("test-c")
    assert names(lines) == [f"test-c: {cmocka}{name}"]
    assert part in shown(lines, f"test-c: {cmocka}{name}")


def script(suites: Suites, text: str, status: int = 1) -> Path:
    path = suites.file("program", f"#!/bin/sh\ncat <<'END'\n{text}END\nexit {status}\n")
    path.chmod(0o755)
    return path


def test_googletest(suites: Suites) -> None:
    program = script(suites, GTEST)
    suites.run("test-c", "c", ROOT / "scripts" / "run_programs.sh", program)
    assert suites.counts("test-c") == [1, 1, 0]
    lines = suites.summary("test-c")
    assert names(lines) == [f"test-c: {program} Pool.Grows"]
    assert "Expected equality" in shown(lines, f"test-c: {program} Pool.Grows")


def test_a_program_with_a_main_of_its_own(suites: Suites) -> None:
    program = script(suites, "size: 3, not 4\n12 passed, 1 failed\n")
    suites.run("test-c", "c", ROOT / "scripts" / "run_programs.sh", program, "true")
    assert suites.counts("test-c") == [12, 1, 0]
    lines = suites.summary("test-c")
    assert names(lines) == [f"test-c: {program}"]
    assert "size: 3, not 4" in shown(lines, f"test-c: {program}")


def test_a_program_that_cannot_be_run_counts_beside_one_that_failed(suites: Suites) -> None:
    program = script(suites, "12 passed, 1 failed\n")
    suites.run("test-c", "c", ROOT / "scripts" / "run_programs.sh", program, "./nowhere")
    assert suites.counts("test-c") == [12, 2, 0]
    lines = suites.summary("test-c")
    assert sorted(names(lines)) == ["test-c: ./nowhere", f"test-c: {program}"]
    assert "./nowhere: exit status 127" in shown(lines, "test-c: ./nowhere")


def test_pytest(suites: Suites) -> None:
    text = "import pytest\n\ndef test_good(): pass\n\ndef test_bad(): assert {} == 3\n"
    text += (
        "\n@pytest.fixture\ndef broken(): raise OSError('no file')\n\ndef test_it(broken): pass\n"
    )
    path = suites.file("test_a.py", text)
    suites.run("test-py", "pytest", sys.executable, "-m", "pytest", "-q", path)
    assert suites.counts("test-py") == [1, 2, 0]
    lines = suites.summary("test-py")
    assert names(lines) == ["test-py: ERROR at setup of test_it", "test-py: test_bad"]
    assert "assert {} == 3" in shown(lines, "test-py: test_bad")
    assert "no file" in shown(lines, "test-py: ERROR at setup of test_it")


def test_cargo(suites: Suites) -> None:
    suites.run("test-rust", "cargo", script(suites, CARGO))
    assert suites.counts("test-rust") == [1, 1, 0]
    lines = suites.summary("test-rust")
    assert names(lines) == ["test-rust: a::b"]
    assert "left == right" in shown(lines, "test-rust: a::b")


def test_steps(suites: Suites) -> None:
    text = "ok - one\nfound something\n    in a file\nnot ok - two\nok - three\nfuzz: begun\n"
    text += "not ok - four\n    it said so\nok - five\n"
    suites.run("check", "steps", script(suites, text))
    assert suites.counts("check") == [3, 2, 0]
    lines = suites.summary("check")
    assert names(lines) == ["check: two", "check: four"]
    assert shown(lines, "check: two") == "    found something\n        in a file"
    assert shown(lines, "check: four") == "    fuzz: begun\n        it said so"


def test_the_time_of_processors(suites: Suites) -> None:
    busy = "import time\nwhile time.process_time() < 0.3: pass\nprint('ok - busy')\n"
    program = suites.file("busy.py", busy)
    # The processor time of processes that the command starts counts as well.
    suites.run("suite", "steps", "sh", "-c", f"{sys.executable} {program}; echo 'not ok - two'")
    fields = (suites.folder / "build/test/results/suite").read_text().split()
    assert float(fields[4]) >= 0.3
    head, line, all_of_them = suites.summary("suite")[1:4]
    assert head.split() == ["suite", "passed", "failed", "skipped", "seconds", "cpu"]
    assert line.split() == ["suite", *fields]
    assert all_of_them.split() == ["all", "1", "1", "0", fields[4]]


@pytest.mark.parametrize(
    ("kind", "text", "status", "name"),
    [
        ("cargo", "error[E0425]: no such name\n", 101, "failed with exit status 101"),
        ("pytest", "error[E0425]: no such name\n", 3, "failed with exit status 3"),
        ("steps", "error[E0425]: no such name\n", 0, "no test was run"),
    ],
)
def test_a_suite_that_fails_without_a_failed_test(
    suites: Suites, kind: str, text: str, status: int, name: str
) -> None:
    suites.run("suite", kind, script(suites, text, status))
    assert suites.counts("suite") == [0, 1, 0]
    lines = suites.summary("suite")
    assert names(lines) == [f"suite: {name}"]
    assert "no such name" in shown(lines, f"suite: {name}")


def test_a_command_that_is_not_there(suites: Suites) -> None:
    suites.run("suite", "steps", suites.folder / "nothing")
    lines = suites.summary("suite")
    assert names(lines) == ["suite: failed with exit status 127"]
    assert "No such file" in "\n".join(lines)


def test_what_takes_too_long_is_named(suites: Suites) -> None:
    program = suites.file(
        "slow", "#!/bin/sh\necho 'ok - one'\necho 'two is begun'\nexec sleep 100\n"
    )
    program.chmod(0o755)
    output = suites.run("suite", "steps", program, timeout=4)
    assert "not done after" in output
    lines = suites.summary("suite")
    (name,) = names(lines)
    assert "took too long" in name
    assert "two is begun" in shown(lines, name)


def test_a_suite_that_did_not_run_shows_what_make_said(suites: Suites) -> None:
    suites.file("good.sh", "echo ok - one\n")
    suites.script("suite.py", "one", "steps", "--", "sh", "good.sh")
    suites.file(
        "log", "cc a.c\na.c:3: error: no type\nmake[1]: *** [Makefile:3: build/a] Error 1\n"
    )
    done = suites.script("summary.py", "--closing-line", "--log", "log", "one", "two", "three")
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert lines[-1] == "1 passed, 2 failed"
    assert names(lines) == ["two: did not run", "three: did not run"]
    assert "a.c:3: error: no type" in shown(lines, "two: did not run")


def test_output_of_many_failures_is_cut_and_all_are_named(suites: Suites) -> None:
    noise = "".join(f"line {n} of it\n" for n in range(300))
    text = "".join(f"{noise}panic: number {n}\n{noise}not ok - step {n}\n" for n in range(70))
    suites.run("check", "steps", script(suites, text))
    lines = suites.summary("check")
    assert names(lines) == [f"check: step {n}" for n in range(70)]
    assert len([line for line in lines if line.startswith("    ")]) <= 200
    assert "panic: number 9" in shown(lines, "check: step 9")


def test_a_long_output_shows_its_last_lines(suites: Suites) -> None:
    noise = "".join(f"line {n} of it\n" for n in range(300))
    suites.run("check", "steps", script(suites, f"{noise}not ok - step\n"))
    part = shown(suites.summary("check"), "check: step").splitlines()
    assert len(part) == 40
    assert part[-1].strip() == "line 299 of it"


def test_nothing_is_named_when_all_is_well(suites: Suites) -> None:
    suites.file("good.sh", "echo ok - one\n")
    assert suites.script("suite.py", "one", "steps", "--", "sh", "good.sh").returncode == 0
    done = suites.script("summary.py", "--closing-line", "one")
    assert done.returncode == 0
    assert "failed:" not in done.stdout
    assert done.stdout.endswith("\n1 passed, 0 failed\n")
