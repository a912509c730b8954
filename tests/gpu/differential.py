"""Compares a real driver with the simulated driver, by scripted sequences and recorded answers.

  differential.py run               the part: real against simulated, recorded as a golden file
  differential.py check [FOLDER]    the simulated driver against every recorded golden file

The sequences are the cases of tests/simcuda, built with -DTRACE (tests/gpu/trace.h). A golden
file is text: lines `# key: value` about the driver, then cases and the result of each call.
FOLDER/differences.tsv lists where the simulated driver differs on purpose, with a reason: case,
call, the real answer, the simulated one, why. An entry that does not occur is an error. A
difference that is not listed is an error too. The result of a call with an invalid handle, or a
handle of a destroyed object, is not defined (", open"): it is recorded and not compared. A
program that fails or does not end in time loses only its own cases. The recorded cases are kept.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import difflib
import os
import pathlib
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import bundle

FORMAT = "1"
# The cases are compiled with the header 12.9. A driver of 13 still exports the calls that they
# use.
GENERATIONS = (11020, 12000, 12040, 12090, 13000)
END = "the case"
EARLY = "ends: it can not go on"
OPEN = ", open"
# More devices only make the start of each process slower.
MOST_DEVICES = 2
# Rules for which no result of a driver can be compared, and why.
ENVIRONMENT = "only devices or drivers of an older kind can break it"
UNDEFINED = "what a driver does is left open by the documentation"
ENVIRONMENT_RULES = {
    "managed.c: the device has no concurrent managed access",
    "memory.c: p %p was not allocated as mapped memory",
    "ordered.c: this driver allocates nothing in a capture",
    "pools.c: device %d can not reach the pool",
    "virtual.c: device %d can not reach the memory",
}


@dataclass
class Answers:
    """The results of a driver: for each case its calls and their results, in order."""

    head: dict[str, str] = field(default_factory=dict)
    cases: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def text(self) -> str:
        """The text of a golden file."""
        lines = [f"# {key}: {value}" for key, value in self.head.items()]
        for name, calls in self.cases.items():
            lines.append(f"case {name}")
            lines += [f"  {call} -> {result}" for call, result in calls]
        return "\n".join(lines) + "\n"


def parse(text: str, name: str) -> Answers:
    """Parses a golden file, or the output of the programs. name is for messages."""
    answers = Answers()
    calls: list[tuple[str, str]] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("# "):
            key, _, value = line[2:].partition(": ")
            answers.head[key] = value
        elif line.startswith("case "):
            if line[5:] in answers.cases:
                raise bundle.PartError(f"{name}:{number}: {line[5:]} is there twice")
            calls = answers.cases[line[5:]] = []
        elif line.startswith("  ") and " -> " in line and calls is not None:
            call, _, result = line[2:].rpartition(" -> ")
            calls.append((call, result))
        elif line:
            raise bundle.PartError(f"{name}:{number}: {line!r} is no line of a golden file")
    return answers


def simulator(version: int) -> pathlib.Path:
    """The simulated driver of the generation that a version belongs to."""
    fitting = [generation for generation in GENERATIONS if generation <= version]
    generation = max(fitting, default=GENERATIONS[0])
    return bundle.need(bundle.BUNDLE / "simcuda" / str(generation) / "libcuda.so.1")


def trace(library: str, clock: bundle.Clock, **variables: str) -> Answers:
    """Runs the sequences with a driver. failures has what went wrong with a program."""
    programs = sorted(bundle.need(bundle.BUNDLE / "differential").glob("test_*"))
    # These settings would change the results of calls, so give them fixed values.
    variables |= {"CUDA_MODULE_LOADING": "EAGER", "CUDA_LAUNCH_BLOCKING": "0", "LD_BIND_NOW": ""}
    all_answers = Answers()
    for program in programs:
        seconds = clock.left(240)
        deadline = str(int(time.time() + 0.8 * seconds))
        done = bundle.run(
            [program], seconds, LD_PRELOAD=library, TRACE_DEADLINE=deadline, **variables
        )
        # If the program was killed, the last line may be incomplete.
        answers = parse(done.stdout[: done.stdout.rfind("\n") + 1], program.name)
        all_answers.head |= answers.head
        all_answers.cases |= answers.cases
        if done.returncode != 0:
            said = done.stderr.strip()[-300:]
            all_answers.failures.append(f"{program.name}: status {done.returncode}: {said}")
        late = sum((END, "is not run: out of time") in calls for calls in answers.cases.values())
        if late:
            all_answers.failures.append(f"{program.name}: {late} cases were not run: out of time")
    return all_answers


def trace_simulated(
    version: int, devices: int, clock: bundle.Clock, without: str = "", **variables: str
) -> Answers:
    """Runs the simulated driver with a version, a number of devices and missing features, as the
    head of a golden file names them.
    """
    lacking = [word for word in without.split(",") if word.isalpha() and word != "nothing"]
    answers = trace(
        str(simulator(version)),
        clock,
        SIMCUDA_DRIVER_VERSION=str(version),
        SIMCUDA_DEVICES=str(devices),
        SIMCUDA_BYTES="8G",
        SIMCUDA_WITHOUT=",".join(lacking),
        SIMCUDA_JITTER_US="10",
        CUDA_VISIBLE_DEVICES=",".join(str(device) for device in range(devices)),
        **variables,
    )
    if answers.failures:
        raise bundle.PartError(f"the simulated driver: {'; '.join(answers.failures)}")
    return answers


@dataclass(frozen=True)
class Difference:
    """A call for which two drivers return different results."""

    case: str
    call: str
    real: str
    simulated: str


def compare_case(
    name: str, real: list[tuple[str, str]], simulated: list[tuple[str, str]]
) -> list[Difference]:
    """Returns the differences in a case. If one run ended early, what follows is not compared.

    The recorded run ends early if a result is not the one that the case then wanted. Such an end
    is no difference once the case wants the recorded result.
    """
    found = []
    calls = [call for call, _ in real], [call for call, _ in simulated]
    # After its end a run has only calls with an open result, each in a run of its own.
    ended = END in calls[0] or END in calls[1]
    for kind, a, b, c, d in difflib.SequenceMatcher(None, *calls, autojunk=False).get_opcodes():
        if kind == "equal":
            for (call, answer), (_, other) in zip(real[a:b], simulated[c:d], strict=True):
                if answer != other and not answer.endswith(OPEN):
                    found.append(Difference(name, call, answer, other))
        elif not ended:
            found += [Difference(name, call, answer, "not made") for call, answer in real[a:b]]
            found += [Difference(name, call, "not made", other) for call, other in simulated[c:d]]
    explained = (END, EARLY) in real and END not in calls[1]
    if ended and not found and real != simulated and not explained:
        found.append(Difference(name, END, str(real[-1][1]), str(simulated[-1][1])))
    return found


def compare(real: Answers, simulated: Answers) -> list[Difference]:
    """Returns all differences. A case that only one driver has is a difference."""
    found = []
    for name in dict.fromkeys([*real.cases, *simulated.cases]):
        if name not in simulated.cases:
            found.append(Difference(name, END, "is there", "is not there"))
        elif name in real.cases:
            found += compare_case(name, real.cases[name], simulated.cases[name])
    return found


def listed(folder: pathlib.Path) -> set[Difference]:
    """Reads the intended differences, each with its reason."""
    path = folder / "differences.tsv"
    if not path.exists():
        return set()
    entries = set()
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        words = line.split("\t")
        if len(words) != 5 or not all(words):
            raise bundle.PartError(
                f"{path}:{number}: case, call, real, simulated and a reason, with tabs between"
            )
        entries.add(Difference(*words[:4]))
    return entries


def all_rules() -> list[str]:
    """The rules that the newest simulated driver enforces."""
    library = ctypes.CDLL(str(simulator(GENERATIONS[-1])))
    library.simcuda_rules.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.simcuda_rules.restype = ctypes.c_size_t
    text = ctypes.create_string_buffer(1 << 17)
    count = library.simcuda_rules(text, len(text))
    names = [line.split(" ", 1)[1] for line in text.value.decode().splitlines()]
    if len(names) != count:
        raise bundle.PartError(f"{len(names)} of {count} rules fit into the buffer")
    return names


@dataclass
class Coverage:
    """The rules of the simulated driver: all rules, the rules that the sequences break, the rules
    with a known real result, and the rules that no driver of today can have a result for, with
    the reason.
    """

    rules: list[str]
    provoked: set[str]
    answered: set[str]
    unanswerable: dict[str, str]

    @property
    def unanswered_share(self) -> float:
        """The share of all rules that no recorded result covers."""
        return 1 - len(self.answered) / len(self.rules)

    def line(self) -> str:
        """A summary for the reader."""
        return (
            f"rules of the simulated driver without a recorded real answer: "
            f"{100 * self.unanswered_share:.1f} % ({len(self.rules) - len(self.answered)} of "
            f"{len(self.rules)}; the sequences provoke {len(self.provoked)}, "
            f"{len(self.unanswerable)} of them where no answer can be compared)"
        )


def is_answer(result: str) -> bool:
    """Whether the driver returned this result. It is false if the process ended or hung, or if
    the result is open.
    """
    given = result.startswith(("CUDA_", "error ")) or result in ("yes", "no")
    return given and not result.endswith(OPEN)


@dataclass(frozen=True)
class Broken:
    """A call of the sequences that breaks rules. A special call is not run with, or not compared
    for, a driver of today: it is open, or its case is for the simulated driver only.
    """

    case: str
    call: str
    result: str
    rules: frozenset[str]
    special: bool


def broken_rules(clock: bundle.Clock) -> list[Broken]:
    """Finds which rules the calls of the sequences break."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rules.tsv"
        path.touch()
        trace_simulated(GENERATIONS[-1], 2, clock, TRACE_RULES=str(path), TRACE_ALL="1")
        found = []
        for line in path.read_text().splitlines():
            case, said, names, kind = line.split("\t")
            call, _, result = said.rpartition(" -> ")
            special = kind == "special" or result.endswith(OPEN)
            found.append(Broken(case, call, result, frozenset(names.split(" | ")), special))
        return found


def coverage(goldens: list[Answers], clock: bundle.Clock) -> Coverage:
    """Finds which rules the sequences break, and for which of these calls a golden file has a
    result.
    """
    answered_calls = {
        (name, call)
        for golden in goldens
        for name, calls in golden.cases.items()
        for call, result in calls
        if is_answer(result)
    }
    rules = all_rules()
    usual: set[str] = set()
    provoked: set[str] = set()
    answered: set[str] = set()
    for broken in broken_rules(clock):
        names = broken.rules & set(rules)
        provoked |= names
        if not broken.special:
            usual |= names
        if (broken.case, broken.call) in answered_calls:
            answered |= names
    unanswerable = {
        rule: ENVIRONMENT if rule in ENVIRONMENT_RULES else UNDEFINED
        for rule in sorted(provoked - usual - answered)
    }
    return Coverage(rules, provoked, answered, unanswerable)


def held(golden: Answers, name: str, allow_simulated: bool) -> tuple[int, int]:
    """The version and the number of devices of a golden file. Its head must be complete."""
    for key in ("format", "date", "driver", "device", "devices", "simulated"):
        if not golden.head.get(key):
            raise bundle.PartError(f"{name}: its head has no {key!r}")
    if golden.head["format"] != FORMAT:
        raise bundle.PartError(f"{name}: format {golden.head['format']}, not {FORMAT}")
    if golden.head["simulated"] != "no" and not allow_simulated:
        raise bundle.PartError(f"{name}: recorded from the simulated driver, which proves nothing")
    if not golden.cases:
        raise bundle.PartError(f"{name}: no case in it")
    return int(golden.head["driver"]), int(golden.head["devices"])


def show(difference: Difference, name: str) -> str:
    """Formats a difference for the reader."""
    return (
        f"{name}: {difference.case}: {difference.call}: the driver gave {difference.real}, "
        f"the simulated one {difference.simulated}"
    )


def check(folder: pathlib.Path, allow_simulated: bool = False) -> int:
    """Compares the simulated driver with each golden file of a folder, and prints which rules
    none covers.
    """
    clock = bundle.Clock()
    goldens, wrong = [], []
    on_purpose, seen = listed(folder), set()
    for path in sorted(folder.glob("*.txt")):
        golden = parse(path.read_text(), path.name)
        version, devices = held(golden, path.name, allow_simulated)
        simulated = trace_simulated(version, devices, clock, golden.head.get("without", ""))
        for difference in compare(golden, simulated):
            if difference in on_purpose:
                seen.add(difference)
            else:
                wrong.append(show(difference, path.name))
        goldens.append(golden)
    wrong += [show(entry, "differences.tsv, not so") for entry in on_purpose - seen]
    early = sum((END, EARLY) in calls for golden in goldens for calls in golden.cases.values())
    bundle.say(
        f"{len(goldens)} golden files, in which {early} cases end early; "
        f"{len(on_purpose)} differences on purpose"
    )
    known = coverage(goldens, clock)
    bundle.say(known.line())
    wrong += [
        f"no sequence breaks the rule {rule}" for rule in known.rules if rule not in known.provoked
    ]
    for line in wrong:
        bundle.say(line)
    return bundle.fail(f"{len(wrong)} differences") if wrong else 0


def record(library: str, driver: dict[str, Any], clock: bundle.Clock) -> Answers:
    """Runs a driver and returns its results with the head of a golden file."""
    with bundle.held_context(library):
        answers = trace(library, clock)
    answers.head = {
        "format": FORMAT,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "driver": str(driver["driver_version"]),
        "release": driver["driver_release"] or "unknown",
        "device": driver["devices"][0]["name"],
        "devices": str(len(driver["devices"])),
        "without": answers.head.get("without", "nothing"),
        "simulated": "yes" if driver["simulated"] else "no",
    }
    return answers


def golden_path(driver: dict[str, Any]) -> pathlib.Path:
    """The path for the recorded results: next to the other results if those have a folder of
    their own.
    """
    folder = bundle.results_folder()
    if folder == bundle.RESULTS:
        folder = bundle.GOLDEN
    name = f"{driver['driver_version']}-{bundle.slug(driver)}-x{len(driver['devices'])}.txt"
    return folder / name


def run() -> int:
    """The part: records the results of the driver and compares them with those of the simulated
    driver.
    """
    clock = bundle.Clock()
    driver = bundle.describe()
    if len(driver["devices"]) > MOST_DEVICES and "CUDA_VISIBLE_DEVICES" not in os.environ:
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, range(MOST_DEVICES)))
        driver = bundle.describe()
    real = record(bundle.driver_library(), driver, clock)
    path = golden_path(driver)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(real.text())
    bundle.say(f"recorded: {path}")
    simulated = trace_simulated(
        driver["driver_version"], len(driver["devices"]), clock, real.head["without"]
    )
    on_purpose = listed(bundle.GOLDEN)
    differences = compare(real, simulated)
    unlisted = [entry for entry in differences if entry not in on_purpose]
    known = coverage([real], clock)
    calls = [result for case in real.cases.values() for _, result in case]
    for entry in unlisted:
        bundle.say(show(entry, driver["devices"][0]["name"]))
    for failure in real.failures:
        bundle.say(failure)
    bundle.say(known.line())
    bundle.write_result(
        "differential",
        driver,
        {
            "cases": len(real.cases),
            "calls": len(calls),
            "calls_that_ended_their_process": sum(
                not is_answer(result) and not result.endswith(OPEN) for result in calls
            ),
            "calls_left_open": sum(result.endswith(OPEN) for result in calls),
            "differences": [vars(entry) for entry in unlisted],
            "differences_on_purpose": len(differences) - len(unlisted),
            "rules": len(known.rules),
            "rules_provoked": len(known.provoked),
            "rules_answered": len(known.answered),
            "rules_unanswered": sorted(
                set(known.rules) - known.answered - known.unanswerable.keys()
            ),
            "rules_without_a_comparable_answer": known.unanswerable,
            "failures": real.failures,
            "golden": path.name,
        },
    )
    if real.failures:
        return bundle.fail(f"{len(real.failures)} programs did not come to their end")
    return bundle.fail(f"{len(unlisted)} differences") if unlisted else 0


def main() -> int:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("run")
    checking = verbs.add_parser("check")
    checking.add_argument("folder", nargs="?", type=pathlib.Path, default=bundle.GOLDEN)
    checking.add_argument("--allow-simulated", action="store_true")
    options = parser.parse_args()
    try:
        if options.verb == "run":
            return run()
        return check(options.folder, options.allow_simulated)
    except bundle.PartError as error:
        return bundle.fail(str(error))


if __name__ == "__main__":
    sys.exit(main())
