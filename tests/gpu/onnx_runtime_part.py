#!/usr/bin/env python3
"""Tests ONNX Runtime with its CUDA provider as an engine of models, in pools of the library.

onnx_runtime_part.py            the part
onnx_runtime_part.py case NAME  one case, in this process

FERRUM_ORT_LIBRARY is the path of a libonnxruntime with libonnxruntime_providers_cuda.so beside it.
What that library needs (the CUDA runtime, cuBLAS, cuRAND, cuFFT, cuDNN) is taken from the packages
nvidia-* of this Python, or else is found by the loader. The model is an encoder of the shape of
MiniLM with random weights and a larger vocabulary. With the simulated driver it is small, and the
times mean nothing.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "bench" / "python"))
import bundle
import framework
import weights_part

SIMULATED = bundle.is_simulated(bundle.driver_library())
LAYERS, WIDTH, HEADS, WORDS = (2, 48, 4, 300) if SIMULATED else (6, 384, 12, 100_000)
SHAPES = [(1, 4), (3, 7)] if SIMULATED else [(1, 16), (4, 32), (8, 128)]
STATES = "last_hidden_state"
# The names of the libraries that the provider needs, in the order in which they are loaded.
NEEDS = "cudart nvJitLink nvrtc cublasLt cublas curand cufft cudnn"
DEVICE = os.environ.get("DEVICE") or "cuda:0"


def needed_libraries() -> list[pathlib.Path]:
    """The libraries in the packages nvidia-* of this Python."""
    found = []
    for name in NEEDS.split():
        pattern = re.compile(rf"lib{name}(_\w+)?\.so\.\d+")
        for entry in map(pathlib.Path, sys.path):
            for path in sorted(entry.glob("nvidia/*/lib/lib*.so.*")):
                if pattern.fullmatch(path.name) and "builtins" not in path.name:
                    found.append(path)
    return found


def load_needs() -> None:
    """Loads what the provider needs, so that the system finds it by its name."""
    if SIMULATED:
        return
    left = needed_libraries()
    for _ in range(3):  # parts of cuDNN need each other
        again = []
        for path in left:
            try:
                ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
            except OSError:
                again.append(path)
        left = again


def why_not() -> str:
    """Why the part cannot run here; "": it can."""
    name = os.environ.get("FERRUM_ORT_LIBRARY")
    if not name:
        return "FERRUM_ORT_LIBRARY is not set: it names libonnxruntime with its CUDA provider"
    path = pathlib.Path(name)
    if not path.exists():
        return f"{path} is not there"
    if not SIMULATED and not (path.parent / "libonnxruntime_providers_cuda.so").exists():
        return f"libonnxruntime_providers_cuda.so is not beside {path}"
    try:
        import numpy  # noqa: F401
    except ImportError as absent:
        return str(absent)
    return ""


def tell(**figures: Any) -> None:
    """Prints figures of a case, which go to the results."""
    print(json.dumps(figures), flush=True)


def weights() -> dict[str, Any]:
    """Random tensors of an encoder."""
    import numpy

    chance = numpy.random.default_rng(7)
    found: dict[str, Any] = {}

    def add(name: str, *shape: int) -> None:
        found[name] = (chance.standard_normal(shape) * 0.05).astype("float32")

    def norm(name: str) -> None:
        add(f"{name}.bias", WIDTH)
        found[f"{name}.weight"] = 1 + (chance.standard_normal(WIDTH) * 0.1).astype("float32")

    for name, rows in (("word", WORDS), ("position", 512), ("token_type", 2)):
        add(f"embeddings.{name}_embeddings.weight", rows, WIDTH)
    norm("embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        for name, rows, columns in (
            ("attention.self.query", WIDTH, WIDTH),
            ("attention.self.key", WIDTH, WIDTH),
            ("attention.self.value", WIDTH, WIDTH),
            ("attention.output.dense", WIDTH, WIDTH),
            ("intermediate.dense", 4 * WIDTH, WIDTH),
            ("output.dense", WIDTH, 4 * WIDTH),
        ):
            add(f"{at}{name}.weight", rows, columns)
            add(f"{at}{name}.bias", rows)
        norm(f"{at}attention.output.LayerNorm")
        norm(f"{at}output.LayerNorm")
    return found


def write_model(folder: pathlib.Path) -> int:
    """Writes the model. Returns the bytes of its tensors."""
    config = {
        "model_type": "bert", "hidden_size": WIDTH, "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS, "intermediate_size": 4 * WIDTH, "vocab_size": WORDS,
        "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    tensors, entries, end = weights(), {}, 0
    for name, array in tensors.items():
        entries[name] = {
            "dtype": "F32", "shape": list(array.shape), "data_offsets": [end, end + array.nbytes],
        }  # fmt: skip
        end += array.nbytes
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for array in tensors.values():
            file.write(array.tobytes())
    return end


def inputs(batch: int, sequence: int) -> dict[str, Any]:
    """Random words. The last word of each row but the first is masked."""
    import numpy

    ids = numpy.random.default_rng(batch * sequence).integers(0, WORDS, (batch, sequence))
    mask = numpy.ones_like(ids)
    mask[1:, -1] = 0
    places = numpy.broadcast_to(numpy.arange(sequence), ids.shape).copy()
    return {
        "input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids),
        "position_ids": places,
    }  # fmt: skip


class World:
    """The device with a pool for models and one for tensors, memory of the host, and the model."""

    def __init__(self, folder: pathlib.Path) -> None:
        load_needs()
        import ferrum_mem as fm

        self.fm, self.folder = fm, folder
        self.bytes = write_model(folder)
        self.driver = weights_part.Driver(int(DEVICE.rpartition(":")[2]))
        self.host = fm.Device("cpu:0")
        self.near = fm.Pool(self.host)
        self.device = fm.Device(DEVICE)
        self.pool, self.far = fm.ElasticPool(self.device), fm.Pool(self.device)

    def build(self, name: str = "model", **more: Any) -> Any:
        """A model on the device."""
        given = {"pool": self.pool, "engine": "onnx_runtime", "model_id": name, **more}
        return self.fm.models.build(self.folder, **given)

    def run(self, model: Any, batch: int, sequence: int) -> Any:
        """The states of a run with arrays, as an array."""
        (made,) = model.run(inputs(batch, sequence), [STATES]).values()
        return self.array(made)

    def array(self, made: Any) -> Any:
        """The elements of a tensor, which is closed."""
        import numpy

        with made, made.to(memory=self.near) as copied:
            return numpy.array(copied.numpy())

    def beyond(self) -> int:
        """Bytes of the device in use that the library does not hold."""
        return self.driver.used_bytes() - int(self.device.statistics().reserved.current)

    def close(self) -> None:
        """Closes everything without force, so a leak is an error."""
        for each in (self.pool, self.far, self.device, self.near, self.host):
            each.close()
        self.driver.close()


@contextlib.contextmanager
def world() -> Iterator[World]:
    with tempfile.TemporaryDirectory() as folder:
        made = World(pathlib.Path(folder))
        yield made
        made.close()


def apart(a: Any, b: Any) -> float:
    """The largest difference of elements."""
    return float(abs(a - b).max())


# Runs a file of ONNX with the Python package onnxruntime on the CPU, in a process of its own.
PEER = """
import sys, numpy, onnxruntime
options = onnxruntime.SessionOptions()
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
given = dict(numpy.load(sys.argv[2]))
known = {each.name for each in session.get_inputs()}
given = {name: array for name, array in given.items() if name in known}
numpy.save(sys.argv[3], session.run([sys.argv[4]], given)[0])
"""


def peer_states(file: pathlib.Path, given: dict[str, Any]) -> Any:
    """The states that the package onnxruntime computes; None: it is not installed."""
    import numpy

    folder = file.parent
    numpy.savez(folder / "given.npz", **given)
    environment = {k: v for k, v in os.environ.items() if k != "FERRUM_ORT_LIBRARY"}
    names = [file, folder / "given.npz", folder / "states.npy", STATES]
    command = [sys.executable, "-c", PEER, *map(str, names)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
    if "No module named 'onnxruntime'" in done.stderr:
        return None
    assert done.returncode == 0, done.stderr[-2000:]
    return numpy.load(folder / "states.npy")


def outputs() -> None:
    """The states are those of the engine of the CPU, and of onnxruntime on the CPU."""
    with world() as w:
        ours = w.fm.models.build(w.folder)
        file = w.folder / "model.onnx"
        with ours, w.build() as model:
            ours.export_onnx(file)
            found = []
            for batch, sequence in SHAPES:
                want = w.run(ours, batch, sequence)
                for _ in range(2):  # the second run has an output whose shape is known
                    found.append(apart(w.run(model, batch, sequence), want))
            tell(differences=found)
            assert max(found) <= 1e-4, found
            other = peer_states(file, inputs(*SHAPES[1]))
            by_peer = None if other is None else apart(w.run(model, *SHAPES[1]), other)
            tell(by_onnxruntime=by_peer)
            assert by_peer is None or by_peer <= 1e-4, by_peer


def tensors_of_the_device() -> None:
    """Tensors of the device are read and written where they are."""
    with world() as w, w.build() as model:
        given = {name: w.fm.Tensor.from_numpy(array) for name, array in inputs(*SHAPES[1]).items()}
        on = {name: each.to(memory=w.far) for name, each in given.items()}
        want = w.run(model, *SHAPES[1])
        out = w.fm.Tensor(w.far, w.fm.DType.F32, (*SHAPES[1], WIDTH))
        for _ in range(2):
            model.run(on, {STATES: out})
        assert apart(w.array(out), want) == 0
        for each in (*given.values(), *on.values()):
            each.close()


def memory() -> None:
    """All memory of a session is in the books of its model, and the weights exist once."""
    with world() as w:
        before = w.beyond()
        first = w.build("first")
        opened = w.beyond()
        w.run(first, *SHAPES[-1])
        ran = w.beyond()
        second = w.build("second")
        w.run(second, *SHAPES[-1])
        after = w.beyond()
        held = {each.id: each.info()["held_bytes"] for each in (first, second)}
        assert w.pool.info().physical_bytes == sum(held.values()), (w.pool.info(), held)
        parameters = first.info()["parameter_bytes"]
        assert 0.99 * w.bytes <= parameters <= 1.01 * w.bytes, (parameters, w.bytes)
        arena = first.info()["arena_bytes"]
        assert held["first"] <= parameters + arena + (32 << 20), (held, parameters, arena)
        second_beyond = after - ran
        tell(
            weights_bytes=w.bytes, held_bytes=held["first"], arena_bytes=arena,
            library_and_context_bytes=opened - before, first_run_bytes=ran - opened,
            second_model_beyond_pool_bytes=second_beyond,
        )  # fmt: skip
        # Another copy of the weights would be as large as they are.
        assert SIMULATED or second_beyond < 0.6 * w.bytes, (second_beyond, w.bytes)
        first.close()
        second.close()
        assert w.pool.info().physical_bytes == 0


def copy_seconds(w: World, size: int) -> dict[str, float]:
    """The median time of a copy to the device from plain and from pinned memory."""
    found = {}
    for kind in ("pageable", "pinned"):
        times = [w.driver.copy_seconds(size, is_pinned=kind == "pinned") for _ in range(3)]
        found[kind] = statistics.median(times)
    return found


def sleep() -> None:
    """A sleeping model holds little, refuses runs, and wakes with the same bits."""
    with world() as w, w.build() as model, w.build("other") as other:
        want = w.run(model, *SHAPES[1])
        w.run(other, *SHAPES[1])
        awake = model.info()["held_bytes"]
        left = []
        waking: list[float] = []
        sleeping: list[float] = []
        for _ in range(3):
            start = time.perf_counter()
            model.sleep()
            sleeping.append(time.perf_counter() - start)
            left.append(model.info()["held_bytes"] / awake)
            try:
                model.run(inputs(*SHAPES[1]), timeout_s=0)
            except w.fm.BusyError:
                pass
            else:
                raise bundle.PartError("a sleeping model ran")
            assert apart(w.run(other, *SHAPES[1]), want) <= 1e-5
            start = time.perf_counter()
            model.wake()
            waking.append(time.perf_counter() - start)
            assert apart(w.run(model, *SHAPES[1]), want) == 0
        assert max(left) <= 0.2, left
        tell(
            awake_bytes=awake, left_of_awake=max(left), wake_seconds=bundle.spread(waking),
            sleep_seconds=bundle.spread(sleeping), copy_seconds=copy_seconds(w, w.bytes),
        )  # fmt: skip


def threads() -> None:
    """Threads run one model and two models at the same time."""
    with world() as w, w.build("a") as a, w.build("b") as b:
        want = w.run(a, *SHAPES[1])
        wrong: list[Any] = []

        def many(model: Any) -> None:
            try:
                for _ in range(10):
                    if apart(w.run(model, *SHAPES[1]), want) > 1e-5:
                        wrong.append("other states")
            except Exception as problem:  # it is reported by the case
                wrong.append(problem)

        running = [threading.Thread(target=many, args=(each,)) for each in (a, a, b)]
        for each in running:
            each.start()
        for each in running:
            each.join()
        assert not wrong, wrong


def little_memory() -> None:
    """A pool that is too small is a typed error, and what fits works afterwards."""
    with world() as w:
        page = w.pool.info().page_bytes
        limit = max(w.bytes // page // 2, 1) * page
        small = w.fm.ElasticPool(w.device, w.fm.ElasticPoolConfig(limit_bytes=limit))
        try:
            w.build(pool=small).close()
        except w.fm.OutOfMemoryError as problem:
            tell(error=str(problem))
        else:
            raise bundle.PartError("a model was built in too little memory")
        assert small.info().physical_bytes == 0
        small.close()
        with w.build("first") as model:
            want = w.run(model, *SHAPES[0])
        limit = (w.bytes // page + 8) * page
        tight = w.fm.ElasticPool(w.device, w.fm.ElasticPoolConfig(limit_bytes=limit))
        with w.build(pool=tight) as model:
            assert apart(w.run(model, *SHAPES[0]), want) == 0
            try:
                w.run(model, 64, 256)
            except w.fm.OutOfMemoryError as problem:
                tell(error=str(problem))
            else:
                raise bundle.PartError("a run took more than the pool has")
            assert apart(w.run(model, *SHAPES[0]), want) == 0
        tight.close()


def wrong_device() -> None:
    """Devices that do not exist and pools of another device are typed errors."""
    with world() as w:
        with contextlib.suppress(w.fm.DeviceNotFoundError):
            w.fm.Compute("cuda:99", backend="onnx_runtime")
            raise bundle.PartError("a device that does not exist was opened")
        with (
            w.fm.Compute(w.device, backend="onnx_runtime") as compute,
            w.fm.ElasticPool("cpu:0") as pool,
            contextlib.suppress(w.fm.InvalidArgumentError),
        ):
            w.fm.models.build(w.folder, compute=compute, pool=pool)
            raise bundle.PartError("a model was built in a pool of another device")


def without_its_needs() -> None:
    """Without the libraries that the provider needs, a backend opens or states what is missing."""
    import ferrum_mem as fm

    missing = None
    try:
        fm.Compute(DEVICE, backend="onnx_runtime").close()
    except fm.UnsupportedError as problem:
        missing = str(problem)
    assert missing is None or "libonnxruntime_providers_cuda.so" in missing, missing
    tell(missing=missing)


class Bare:
    """A session of bare ONNX Runtime on the device, with arrays of the host."""

    def __init__(self, file: pathlib.Path) -> None:
        bare = importlib.import_module("bare_runtime")
        runtime = bare.Runtime(os.environ["FERRUM_ORT_LIBRARY"])
        options, cuda = ctypes.c_void_p(), ctypes.c_void_p()
        runtime.call(bare.CREATE_OPTIONS, ctypes.byref(options))
        runtime.call(bare.CREATE_CUDA_OPTIONS, ctypes.byref(cuda))
        given = {b"device_id": DEVICE.rpartition(":")[2].encode(), b"use_tf32": b"0"}
        keys, values = ((ctypes.c_char_p * 2)(*part) for part in (given, given.values()))
        runtime.call(bare.UPDATE_CUDA_OPTIONS, cuda, keys, values, 2)
        runtime.call(bare.APPEND_CUDA, options, cuda)
        self.session = bare.Session.__new__(bare.Session)
        self.session.runtime, self.session.handle = runtime, ctypes.c_void_p()
        runtime.call(
            bare.CREATE_SESSION, runtime.environment, str(file).encode(), options,
            ctypes.byref(self.session.handle),
        )  # fmt: skip

    def runner(self, given: dict[str, Any], out: Any) -> Callable[[], None]:
        """Runs with these arrays."""
        self.session.bind(given, out)
        made: Callable[[], None] = self.session
        return made


def latency() -> None:
    """Times of runs, in turns with bare ONNX Runtime: both copy arrays of the host."""
    import numpy

    with world() as w, w.build() as model:
        file = w.folder / "model.onnx"
        model.export_onnx(file)
        bare = None if SIMULATED else Bare(file)
        found = {}
        for batch, sequence in SHAPES:
            given = inputs(batch, sequence)
            out = numpy.empty((batch, sequence, WIDTH), "float32")
            other = numpy.empty_like(out)
            theirs = bare.runner(given, other) if bare is not None else None
            names = ("ours", "bare")
            times: dict[str, list[float]] = {name: [] for name in names}
            with w.fm.Tensor.from_numpy(out) as to:
                near = {name: w.fm.Tensor.from_numpy(each) for name, each in given.items()}

                def ours(near: Any = near, to: Any = to) -> None:
                    model.run(near, {STATES: to})

                for round_ in range(5 if SIMULATED else 60):
                    for name, call in zip(names, (ours, theirs), strict=True):
                        if call is None:
                            continue
                        start = time.perf_counter()
                        call()
                        if round_ >= 3:
                            times[name].append(1e3 * (time.perf_counter() - start))
                for each in near.values():
                    each.close()
            if bare is not None:
                assert apart(out, other) <= 1e-4, apart(out, other)
            found[f"{batch}x{sequence}"] = {
                name: bundle.spread(each) for name, each in times.items() if each
            }
        tell(milliseconds=found)


CASES = {
    "outputs": outputs,
    "tensors of the device": tensors_of_the_device,
    "memory": memory,
    "sleep": sleep,
    "threads": threads,
    "little memory": little_memory,
    "wrong device": wrong_device,
    "without its needs": without_its_needs,
    "latency": latency,
}


def version() -> str:
    """The version of ONNX Runtime."""
    import ferrum_mem as fm

    (found,) = (b for b in fm.compute_backends()["backends"] if b["name"] == "onnx_runtime")
    assert found["available"], found["reason"]
    return str(found["version"])


VERSIONS = (
    f"import sys; sys.path.insert(0, {str(pathlib.Path(__file__).resolve().parent)!r}); "
    "import onnx_runtime_part; print(onnx_runtime_part.version())"
)


def main() -> int:
    """Runs the cases."""
    absent = why_not()
    if absent:
        bundle.say(f"skip - onnx_runtime: {absent}")
        return framework.ABSENT
    return framework.run_part("onnx_runtime", __file__, list(CASES), VERSIONS)


if __name__ == "__main__":
    if sys.argv[1:2] == ["case"]:
        sys.exit(framework.run_cases(CASES))
    sys.exit(main())
