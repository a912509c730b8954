"""Tests how recorded answers check the simulated driver: the recorder, the checker, and what it
rejects.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

import bundle
import differential
import pytest

GIVEN = "case a: b\n  first() -> CUDA_SUCCESS\n  second() -> CUDA_ERROR_INVALID_VALUE\n"


def test_the_simulated_driver_is_held_to_what_was_recorded(part):
    done = part("differential.py", "check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"without a recorded real answer: [\d.]+ % \(\d+ of \d+;", done.stdout)
    print(done.stdout)


def test_what_was_recorded_from_the_simulator_holds_and_is_refused_as_proof(part, tmp_path):
    done = part("differential.py", "run", SIMCUDA_JITTER_US="10")
    assert done.returncode == 0, done.stdout + done.stderr
    (result,) = tmp_path.glob("*-differential-*.json")
    found = json.loads(result.read_text())
    assert found["driver"]["simulated"]
    assert found["differences"] == []
    assert found["calls"] > 1000
    assert found["rules_provoked"] > 150
    refused = part("differential.py", "check", str(tmp_path))
    assert refused.returncode == 1
    assert "proves nothing" in refused.stderr
    held = part("differential.py", "check", "--allow-simulated", str(tmp_path))
    assert held.returncode == 0, held.stdout + held.stderr


CALL = "  second() -> CUDA_ERROR_INVALID_VALUE\n"


class TestAFileThatWasTamperedWith:
    @pytest.fixture
    def check(self, tmp_path, monkeypatch, capsys):
        """Checks a golden file against given results of the simulator."""

        def simulated(version, devices, clock, without=""):
            assert (version, devices, without) == (12090, 2, "peer,fd")
            return differential.parse(GIVEN, "simulated")

        refused = "CUDA_ERROR_INVALID_VALUE"
        broken = differential.Broken("a: b", "second()", refused, frozenset(["one"]), False)
        monkeypatch.setattr(differential, "trace_simulated", simulated)
        monkeypatch.setattr(differential, "broken_rules", lambda clock: [broken])
        monkeypatch.setattr(differential, "all_rules", lambda: ["one"])
        head = {"format": "1", "date": "2026-11-21", "driver": "12090", "device": "card"}
        head |= {"devices": "2", "simulated": "no", "without": "peer,fd"}

        def run(text: str) -> tuple[int, str]:
            whole = differential.Answers(head).text() + text
            (tmp_path / "golden.txt").write_text(whole)
            status = differential.check(tmp_path)
            return status, capsys.readouterr().out

        return run

    @pytest.mark.parametrize(
        ("changed", "wanted"),
        [
            (GIVEN.replace(CALL, CALL.replace("INVALID_VALUE", "NOT_FOUND")), "gave CUDA_ERROR_N"),
            (GIVEN.replace(CALL, ""), "second(): the driver gave not made"),
            (GIVEN.replace(CALL, CALL + CALL), "the simulated one not made"),
            ("case c: d\n" + GIVEN, "the simulated one is not there"),
        ],
    )
    def test_it_is_seen(self, check, changed, wanted):
        assert check(GIVEN)[0] == 0
        status, output = check(changed)
        assert status == 1
        assert wanted in output

    def test_on_purpose_with_a_reason(self, check, tmp_path):
        words = ["a: b", "second()", "CUDA_ERROR_NOT_FOUND", "CUDA_ERROR_INVALID_VALUE", "so it is"]
        (tmp_path / "differences.tsv").write_text("\t".join(words) + "\n")
        changed = GIVEN.replace(CALL, CALL.replace("INVALID_VALUE", "NOT_FOUND"))
        assert check(changed)[0] == 0
        # An entry for a difference that does not occur is an error.
        status, output = check(GIVEN)
        assert status == 1
        assert "differences.tsv, not so" in output

    def test_what_a_driver_is_free_to_do_is_not_compared(self, check):
        assert (
            check(GIVEN.replace(CALL, CALL.replace("ERROR_INVALID_VALUE", "SUCCESS, open")))[0] == 0
        )

    def test_a_rule_that_nothing_breaks(self, check, monkeypatch):
        monkeypatch.setattr(differential, "all_rules", lambda: ["one", "two"])
        status, output = check(GIVEN)
        assert status == 1
        assert "no sequence breaks the rule two" in output

    def test_no_case(self, check):
        with pytest.raises(bundle.PartError, match="no case"):
            check("")


def test_every_rule_is_broken_by_a_sequence(part):
    if not (bundle.BUNDLE / "differential").exists():
        pytest.skip("the bundle is not built (make gpu-bundle)")
    known = differential.coverage([], bundle.Clock())
    assert known.provoked == set(known.rules)
    # The rules that only old devices can break are listed by name.
    old = {rule for rule, why in known.unanswerable.items() if why == differential.ENVIRONMENT}
    assert old == differential.ENVIRONMENT_RULES
    assert "where no answer can be compared" in known.line()


# A driver whose one call ends the process, and whose other call never returns.
SHIM = """
#include <stdlib.h>
#include <unistd.h>
int cuDeviceGetByPCIBusId(int *device, const char *name) {
    abort();
}
int cuMemPoolGetAttribute(void *pool, int which, void *value) {
    for (;;)
        pause();
}
"""


def test_a_driver_that_crashes_and_hangs_loses_these_calls_only(tmp_path):
    program = bundle.BUNDLE / "differential" / "test_kernels"
    if not program.exists() or shutil.which("cc") is None:
        pytest.skip("the bundle is not built (make gpu-bundle), or there is no compiler")
    shim = tmp_path / "libshim.so"
    command = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(shim)]
    subprocess.run(command, input=SHIM, text=True, check=True)
    own = {"LD_PRELOAD": f"{shim}:{differential.simulator(12090)}", "TRACE_SECONDS": "5"}
    done = subprocess.run(
        [str(program)], env=os.environ | own, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    answers = differential.parse(done.stdout, "shim")
    assert ("cuMemFree_v2(a)", "CUDA_SUCCESS") in answers.cases["test_kernels: a kernel stores"]
    calls = answers.cases["test_kernels: questions to a device"]
    given = {call.partition("(")[0]: result for call, result in calls}
    assert given["cuDeviceGetByPCIBusId"] == "Aborted"
    assert given["cuMemPoolGetAttribute"] == "hangs"
    assert given["cuDeviceGet"] == "CUDA_ERROR_INVALID_DEVICE"
    assert given["cuDevicePrimaryCtxRelease_v2"] == "CUDA_SUCCESS"


class FewSeconds(bundle.Clock):
    """Enough time for all calls except those that hang."""

    def __init__(self, *seconds: float) -> None:
        super().__init__()
        self.seconds = list(seconds)

    def left(self, at_most: float = 0) -> float:
        return self.seconds.pop(0)


def test_a_program_that_fails_or_hangs_loses_its_own_cases_only(tmp_path, monkeypatch):
    folder = tmp_path / "differential"
    folder.mkdir()
    for name, text in {
        "test_a": r"printf 'case a: one\n  first() -> CUDA_SUCCESS\n  half() -'; exit 3",
        "test_b": "echo '# without: peer'; echo 'case b: two'; echo '  next() -> CUDA_SUCCESS'",
        "test_c": "echo 'case c: three'; exec sleep 100",
    }.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setattr(bundle, "BUNDLE", tmp_path)
    answers = differential.trace("", FewSeconds(60, 60, 1))
    assert answers.cases["a: one"] == [("first()", "CUDA_SUCCESS")]
    assert answers.cases["b: two"] == [("next()", "CUDA_SUCCESS")]
    assert answers.head["without"] == "peer"
    failed = [failure.partition(":")[0] for failure in answers.failures]
    assert failed == ["test_a", "test_c"]


def test_without_a_device_nothing_passes(part):
    done = part("differential.py", "run", FERRUM_CUDA_LIBRARY="/nowhere/libcuda.so.1")
    assert done.returncode == 1
    assert "nothing was proved: /nowhere" in done.stderr
    done = part("differential.py", "run", SIMCUDA_DEVICES="0")
    assert done.returncode == 1
    assert "cuInit: CUDA error 100" in done.stderr


class TestComparing:
    def differences(self, real: str, simulated: str = GIVEN) -> list[tuple[str, str, str]]:
        found = differential.compare(
            differential.parse(real, "real"), differential.parse(simulated, "simulated")
        )
        return [(entry.call, entry.real, entry.simulated) for entry in found]

    def test_the_same(self):
        assert self.differences(GIVEN) == []

    def test_a_case_that_one_does_not_have(self):
        assert self.differences("case c: d\n" + GIVEN) == [("the case", "is there", "is not there")]
        assert self.differences("") == []

    def test_what_follows_an_early_end_is_not_compared(self):
        end = "case a: b\n  first() -> CUDA_ERROR_UNKNOWN\n  the case -> ends: it can not go on\n"
        assert self.differences(end) == [("first()", "CUDA_ERROR_UNKNOWN", "CUDA_SUCCESS")]
        opened = end + "  third() -> Segmentation fault, open\n"
        assert self.differences(opened) == self.differences(end)

    def test_an_early_end(self):
        end = "case a: b\n  first() -> CUDA_SUCCESS\n  the case -> ends: it can not go on\n"
        # The case now wants what was recorded, and goes on.
        assert self.differences(end) == []
        # The simulated driver must go on where the recorded run did.
        assert len(self.differences(GIVEN, end)) == 1
        late = "case a: b\n  the case -> is not run: out of time\n"
        assert len(self.differences(late)) == 1

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("nonsense\n", "no line of a golden file"),
            ("  call() -> CUDA_SUCCESS\n", "no line"),
            ("case a\ncase a\n", "twice"),
        ],
    )
    def test_lines_that_are_none(self, text, message):
        with pytest.raises(bundle.PartError, match=message):
            differential.parse(text, "file")

    @pytest.mark.parametrize("key", ["format", "date", "driver", "device", "devices", "simulated"])
    def test_a_head_that_is_not_whole(self, key):
        names = ("format", "date", "driver", "device", "devices", "simulated")
        head = {name: "1" for name in names if name != key}
        with pytest.raises(bundle.PartError, match=f"no '{key}'"):
            differential.held(differential.Answers(head), "file", True)

    def test_differences_need_a_reason(self, tmp_path):
        (tmp_path / "differences.tsv").write_text("# one\na\tb\tc\td\t\n")
        with pytest.raises(bundle.PartError, match="reason"):
            differential.listed(tmp_path)
