"""One quick run of the bench, for all tests of its results."""

import os
import pathlib
from typing import Any

import harness
import pytest
import run

LIBRARY = pathlib.Path(
    os.environ.get("FERRUM_MEM_LIBRARY") or harness.ROOT / "build" / "lib" / "libferrum_mem.so"
)


@pytest.fixture(scope="session")
def quick(quick_run: tuple[pathlib.Path, harness.Harness]) -> pathlib.Path:
    """The results of the quick run."""
    return quick_run[0]


@pytest.fixture(scope="session")
def quick_run(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[pathlib.Path, harness.Harness]:
    """A quick run, with a peer that cannot be found and only the project's own trace.

    Returns the file of its results and the harness that it built.
    """
    output = tmp_path_factory.mktemp("bench") / "results.json"
    made: list[harness.Harness] = []

    def build(*arguments: Any) -> harness.Harness:
        made.append(harness.Harness(*arguments))
        return made[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "Harness", build)
        patch.setitem(harness.PRELOADS, "mimalloc", ("libthere-is-no-such-malloc.so",))
        patch.setenv("FERRUM_TRACES_DIR", str(tmp_path_factory.mktemp("no-traces")))
        run.run(LIBRARY, output, quick=True)
    return output, made[0]
