"""The backend of ONNX Runtime on CUDA devices. The driver is simulated, and so is the provider: a
real ONNX Runtime for the CPU computes on the memory of the simulated driver (tests/simort). Each
program runs in a process of its own, which uses one ONNX Runtime and one driver.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import child_environment
from .test_models import SMALL_MODEL

pytest.importorskip("numpy")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

BUILT = Path(__file__).resolve().parents[3] / "build/test"
SIMULATOR = BUILT / "simcuda/12090/libcuda.so.1"
PROVIDER = BUILT / "simort/libonnxruntime.so.1"
WHEEL = next(Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so*"), Path())


def run(program: str, library: Path, **variables: str) -> None:
    """Runs a program. The simulated driver sets the exit status to 97 if something leaks."""
    if not SIMULATOR.exists() or not PROVIDER.exists():
        pytest.skip("the simulated driver is not built (make simcuda)")
    own = {
        "FERRUM_CUDA_LIBRARY": str(SIMULATOR),
        "FERRUM_ORT_LIBRARY": str(library),
        "SIMORT_LIBRARY": str(WHEEL),
        "SMALL_MODEL": json.dumps(SMALL_MODEL),
        **variables,
    }
    command = [sys.executable, "-c", START + program]
    done = subprocess.run(
        command, env=child_environment(**own), capture_output=True, text=True, timeout=100
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr + done.stdout


START = """
import json, os, threading
import numpy
import ferrum_mem as fm

SMALL = json.loads(os.environ["SMALL_MODEL"])

def build(**more):
    return fm.models.build(definition=SMALL, engine="onnx_runtime", device="cuda:0", **more)

def array(tensor, pool):
    with tensor.to(memory=pool) as copied:
        return numpy.array(copied.numpy())

def refused(*parts):
    try:
        fm.Compute("cuda:0", backend="onnx_runtime")
    except fm.UnsupportedError as problem:
        assert all(part in str(problem) for part in parts), problem
    else:
        raise SystemExit("it was opened")
    with fm.Device("cuda:0") as device:
        assert device.statistics().reserved.current == 0
"""


def test_a_library_without_the_provider() -> None:
    run(
        "refused('CUDAExecutionProvider', 'CPUExecutionProvider', 'libonnxruntime')\n"
        "listed = {b['name']: b for b in fm.compute_backends()['backends']}\n"
        "found = listed['onnx_runtime']['capabilities']['supported_devices']\n"
        "assert 'cpu:0' in found and 'cuda:0' not in found, found\n",
        WHEEL,
    )


def test_a_provider_whose_needs_are_missing() -> None:
    run("refused('libcudnn.so.9', 'cannot open shared object file')", PROVIDER, SIMORT_FAULT="load")


MODELS = """
x = numpy.random.default_rng(1).standard_normal((5, 4)).astype("float32")
with fm.Device("cpu:0") as host, fm.Pool(host) as near:
    with fm.models.build(definition=SMALL, threads=1) as ours, ours(x=x)["y"] as y:
        want = numpy.array(y.numpy())
    with fm.Device("cuda:0") as device, fm.ElasticPool(device) as pool, fm.Pool(device) as far:
        with build(pool=pool) as model, build(pool=pool, model_id="other") as other:
            assert model.info()["device"] == "cuda:0" and model.info()["backend"] == "onnx_runtime"
            before = None
            for round_ in range(3):
                with model(x=x)["y"] as y:
                    got = array(y, near)
                assert numpy.allclose(got, want, atol=1e-6), (got, want)
                assert before is None or numpy.array_equal(got, before)
                before = got
            # Tensors of the device are read and written where they are; others are converted.
            with fm.Tensor.from_numpy(x) as given, given.to(memory=far) as on:
                with given.to(fm.DType.F16, memory=far) as half, model(x=half)["y"] as y:
                    assert numpy.allclose(array(y, near), want, atol=1e-2)
                with fm.Tensor(far, fm.DType.F32, (5, 3)) as out:
                    model.run({"x": on}, {"y": out})
                    assert numpy.array_equal(array(out, near), before)
                with fm.Tensor(near, fm.DType.F32, (5, 3)) as out:
                    model.run({"x": on}, {"y": out})
                    assert numpy.array_equal(numpy.array(out.numpy()), before)
            assert device.statistics().reserved.current > 0
            model.sleep()
            try:
                model.run({"x": x}, timeout_s=0)
            except fm.BusyError:
                pass
            else:
                raise SystemExit("a sleeping model ran")
            with other(x=x)["y"] as y:
                assert numpy.array_equal(array(y, near), before)
            model.wake()
            results = []
            def many(of):
                for _ in range(10):
                    with of(x=x)["y"] as y:
                        results.append(array(y, near))
            threads = [threading.Thread(target=many, args=(m,)) for m in (model, model, other)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            assert len(results) == 30 and all(numpy.array_equal(r, before) for r in results)
            try:
                model.run({"x": x[:, :3]})
            except fm.InvalidArgumentError:
                pass
            else:
                raise SystemExit("a wrong shape was taken")
        far.close()
        pool.close()
        assert device.statistics().reserved.current == 0
"""


def test_models() -> None:
    run(MODELS, PROVIDER)


OPERATIONS = """
x = numpy.arange(12, dtype="float32").reshape(3, 4)
with fm.Device("cpu:0") as host, fm.Pool(host) as near, fm.Device("cuda:0") as device:
    with fm.Compute(device, backend="onnx_runtime") as compute, fm.Pool(device) as far:
        with fm.Tensor.from_numpy(x) as given, given.to(memory=far) as on:
            with compute.op("Add")(on, on) as made:
                assert numpy.array_equal(array(made, near), x + x)
"""


def test_operations() -> None:
    run(OPERATIONS, PROVIDER)
