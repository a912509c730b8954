"""One quick run of the bench, for all tests of its results."""

import os
import pathlib

import harness
import pytest
import run

LIBRARY = pathlib.Path(
    os.environ.get("FERRUM_MEM_LIBRARY") or harness.ROOT / "build" / "lib" / "libferrum_mem.so"
)


@pytest.fixture(scope="session")
def quick(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Results of a quick run, with a peer that cannot be found and only the project's own trace."""
    output = tmp_path_factory.mktemp("bench") / "results.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(harness.PRELOADS, "mimalloc", ("libthere-is-no-such-malloc.so",))
        patch.setenv("FERRUM_TRACES_DIR", str(tmp_path_factory.mktemp("no-traces")))
        run.run(LIBRARY, output, quick=True)
    return output
