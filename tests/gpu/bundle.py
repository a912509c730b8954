"""What the parts of `make test-gpu` share: the bundle in build/gpu, the driver, and results.

A part may run on a machine without Go, a compiler or a network. It uses the files that `make
gpu-bundle` wrote to build/gpu, and Python's own library.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUNDLE = ROOT / "build" / "gpu"
RESULTS = ROOT / "docs" / "results"
GOLDEN = ROOT / "tests" / "simcuda" / "golden"
# After this time a part stops measuring and testing, and writes its results. Twenty seconds
# later it is ended from outside.
PART_SECONDS = float(os.environ.get("FERRUM_GPU_SECONDS") or 450)
EXAMPLE_TRACES = ROOT / "examples" / "traces"


class PartError(Exception):
    """A part cannot run, or did not pass. The text is for the reader."""


class Clock:
    """The remaining time of a part."""

    def __init__(self, seconds: float = PART_SECONDS) -> None:
        self._end = time.monotonic() + seconds

    def is_over(self) -> bool:
        """Whether the time is used up."""
        return time.monotonic() >= self._end

    def left(self, at_most: float = PART_SECONDS) -> float:
        """Returns the remaining seconds, at most at_most."""
        return max(1.0, min(at_most, self._end - time.monotonic()))


def driver_library() -> str:
    """The library of the CUDA driver: FERRUM_CUDA_LIBRARY, or the library that the loader finds."""
    return os.environ.get("FERRUM_CUDA_LIBRARY") or "libcuda.so.1"


def need(path: pathlib.Path) -> pathlib.Path:
    """Returns the path of a file of the bundle, which must exist."""
    if not path.exists():
        raise PartError(f"{path.relative_to(ROOT)} is not there: run `make gpu-bundle` first")
    return path


def describe(library: str | None = None) -> dict[str, Any]:
    """Describes the driver and its devices. If there is no device, raises PartError with the
    reason from the driver.
    """
    command = [str(need(BUNDLE / "bin" / "describe")), library or driver_library()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if not done.stdout:
        raise PartError(f"{' '.join(command)}: status {done.returncode}: {done.stderr.strip()}")
    driver: dict[str, Any] = json.loads(done.stdout)
    if not driver["devices"]:
        raise PartError(f"no CUDA device, so nothing was proved: {driver.get('reason', '')}")
    return driver


@contextlib.contextmanager
def held_context(library: str) -> Iterator[None]:
    """Holds a context on each device, so that the driver does not start again for each of many
    short programs.
    """
    command = [str(need(BUNDLE / "bin" / "describe")), "hold", library]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as held:
        assert held.stdout is not None
        said = held.stdout.readline()
        if said != "held\n":
            raise PartError(f"{' '.join(command)}: {said.strip() or 'it ended'}")
        try:
            yield
        finally:
            held.communicate()
    if held.returncode != 0:
        raise PartError(f"{' '.join(command)}: status {held.returncode}")


def is_simulated(library: str) -> bool:
    """Whether a library is the simulated driver, read from its file."""
    path = pathlib.Path(library)
    return path.exists() and b"simcuda_calls" in path.read_bytes()


def environment(**more: str) -> dict[str, str]:
    """The environment of a program of the bundle. With it the simulated driver has two devices of
    8 GiB, and lists leaks only on request.
    """
    own = {
        "FERRUM_MEM_LIBRARY": str(BUNDLE / "lib" / "libferrum_mem.so"),
        "FERRUM_CUDA_LIBRARY": driver_library(),
        "PYTHONPATH": str(ROOT / "bindings" / "python" / "src"),
        "PYTHONUNBUFFERED": "1",
    }
    if own["FERRUM_CUDA_LIBRARY"] == "libcuda.so.1":
        del own["FERRUM_CUDA_LIBRARY"]
    return {**os.environ, **own, **more}


def run(
    command: Sequence[str | pathlib.Path], seconds: float, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Runs a program. The status is 124 if the program does not end in time."""
    words = [str(word) for word in command]
    try:
        return subprocess.run(
            words,
            env=environment(**variables),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as late:
        out, err = (
            (part or b"").decode(errors="replace") if isinstance(part, bytes) else part or ""
            for part in (late.stdout, late.stderr)
        )
        return subprocess.CompletedProcess(
            words, 124, out, f"{err}\nended after {seconds:.0f} seconds"
        )


def last_json(text: str) -> dict[str, Any]:
    """The last line of a program's output that is a JSON object."""
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            found: dict[str, Any] = json.loads(line)
            return found
    raise PartError(f"no result in the output: {text[-500:]!r}")


def spread(values: Sequence[float]) -> dict[str, float]:
    """Returns the median and the spread of repeated measurements. The spread is the distance of
    the extremes divided by the median.
    """
    middle = statistics.median(values)
    apart = (max(values) - min(values)) / middle if middle else 0.0
    return {
        "median": round(middle, 4),
        "spread": round(apart, 3),
        "runs": float(len(values)),
    }


def slug(driver: dict[str, Any]) -> str:
    """The name of the device, in a form for a file name."""
    return re.sub(r"[^a-z0-9]+", "-", driver["devices"][0]["name"].lower()).strip("-")


def results_folder() -> pathlib.Path:
    """The folder for results: FERRUM_GPU_RESULTS, or docs/results for a real device. Results of a
    simulated driver stay in build, because they say nothing about a device.
    """
    named = os.environ.get("FERRUM_GPU_RESULTS")
    if named:
        return pathlib.Path(named)
    return BUNDLE / "results" if is_simulated(driver_library()) else RESULTS


def write_result(part: str, driver: dict[str, Any], found: dict[str, Any]) -> pathlib.Path:
    """Writes the JSON of a part, with date, device and driver, and prints the path."""
    now = datetime.datetime.now(datetime.timezone.utc)
    folder = results_folder()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{now:%Y-%m-%d}-{part}-{slug(driver)}.json"
    head = {"part": part, "date": now.strftime("%Y-%m-%dT%H:%M:%SZ"), "driver": driver}
    path.write_text(json.dumps({**head, **found}, indent=1, sort_keys=False) + "\n")
    print(f"results: {path}")
    return path


def say(text: str) -> None:
    """Prints a line for the person who watches the run."""
    print(text, flush=True)


def fail(text: str) -> int:
    """Prints why a part did not pass, and returns the exit status."""
    print(f"test-gpu: {text}", file=sys.stderr, flush=True)
    return 1
