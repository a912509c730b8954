"""Compute backends of the program, in Python. NumPy is the oracle."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import ferrum_mem as fm
import pytest

from .test_process import check

numpy = pytest.importorskip("numpy")


class Adder:
    """Adds the elements of all inputs."""

    def __init__(self, plan=None):
        self.calls, self.planned, self.ended, self.waited = [], [], 0, 0
        self.made = plan
        self.act = lambda call: None

    def plan(self, call):
        self.planned.append((call.name, call.inputs))
        return self.made

    def run(self, call):
        self.calls.append(call)
        self.act(call)
        if call.outputs[0].shape == call.inputs[0].shape:
            call.outputs[0].numpy()[...] = sum(each.numpy() for each in call.inputs if each)

    def synchronize(self):
        self.waited += 1

    def close(self):
        self.ended += 1


@pytest.fixture
def adder():
    return Adder()


@pytest.fixture
def compute(device, adder):
    with (
        fm.register_compute("adder", adder, version="3", supported_dtypes=["f32"]) as made,
        fm.Compute(device, backend="adder") as compute,
    ):
        assert made.name == "adder"
        yield compute
        adder.act = lambda call: None
    assert adder.ended == 1


X = numpy.arange(12, dtype="float32").reshape(3, 4)


def test_numpy_computes_with_any_strides(compute, adder):
    for a, b in [(X, X), (X[::-1, ::2], X[:, 1::2]), (X.T, X.T), (X[:, :0], X[:, :0])]:
        with compute.run("Add", [a, b])[0] as y:
            assert numpy.array_equal(y, a + b)
    with fm.Tensor.from_numpy(numpy.zeros((4, 3), "float32")) as into:
        (back,) = compute.run("Add", [X, X], [into.T])
        assert numpy.array_equal(into, (X + X).T)
        assert adder.calls[-1].outputs[0].strides == (1, 3)
        back.close()
    call = adder.calls[0]
    assert (call.name, call.opset, call.attributes) == ("Add", 14, {})
    assert repr(call.inputs[1]) == "<ferrum_mem.ComputeOperand f32[3, 4]>"
    assert call.inputs[0].read_only
    assert not call.outputs[0].read_only
    assert call.inputs[0].dtype is fm.DType.F32
    assert call.inputs[0].size_bytes == 48


def test_a_call_has_attributes_absent_operands_and_shapes(compute, adder):
    with compute.run("Softmax", [X], axis=0)[0]:
        assert adder.calls[-1].attributes == {"axis": 0}
    with compute.run("ferrum.linear", [X, numpy.ones((2, 4), "float32"), None])[0]:
        call = adder.calls[-1]
        assert call.name == "ferrum.linear"
        assert call.inputs[2] is None
    seen: list[list[int]] = []
    adder.act = lambda call: seen.append(call.inputs[1].numpy().tolist())
    with compute.run("Expand", [X, [2, 3, 4]])[0] as y:
        assert seen == [[2, 3, 4]]
        assert y.shape == (2, 3, 4)


def test_plans_state_workspace_and_place(device, compute, adder):
    adder.made = fm.ComputePlan(workspace_bytes=100, in_place=True)
    with fm.Tensor.from_numpy(X, copy=True) as x:
        op = compute.op("Add")
        op.run([x, x], [x])
        assert numpy.array_equal(x, X + X)
        call = adder.calls[-1]
        assert call.workspace_bytes == 100
        assert call.workspace % 64 == 0
        assert call.workspace
        assert op.infer([x, x]).workspace_bytes == 100
    name, inputs = adder.planned[-1]
    assert name == "Add"
    with pytest.raises(fm.InvalidStateError, match="only while run"):
        inputs[0].numpy()
    adder.made = 7
    with pytest.raises(fm.InternalError, match=r"plan of Sub.*ComputePlan") as caught:
        compute.run("Sub", [X, X])
    assert isinstance(caught.value.__cause__, TypeError)
    adder.made = fm.ComputePlan(workspace_bytes=-1)
    with pytest.raises(fm.InvalidArgumentError, match="workspace_bytes"):
        compute.run("Mul", [X, X])
    compute.synchronize()
    assert adder.waited == 1


def test_the_lists_have_it(compute):
    found = fm.find_compute(required_dtypes=["f32"], extra_requirements={"unknown": 1})
    assert "adder" in [each["name"] for each in found["candidates"]]
    assert found["best"] == ""
    (entry,) = (each for each in fm.compute_backends()["backends"] if each["name"] == "adder")
    assert entry["backend_type"] == "custom"
    assert entry["version"] == "3"
    assert compute.capabilities()["supported_dtypes"] == ["f32"]
    with compute.run("Add", [X, X])[0]:
        assert compute.statistics().live_blocks.current == 1


def test_wrong_registrations(device, compute):
    wrong: list[tuple[type[fm.FerrumError], str, dict[str, Any]]] = [
        (fm.AlreadyExistsError, "adder", {}),
        (fm.AlreadyExistsError, "cpu", {}),
        (fm.InvalidArgumentError, "a b", {}),
        (fm.InvalidArgumentError, "x" * 64, {}),
        (fm.InvalidConfigError, "mine", {"devices": []}),
        (fm.InvalidFormatError, "mine", {"devices": ["cpu:x"]}),
        (fm.InvalidFormatError, "mine", {"speed": 1}),
        (fm.InvalidConfigError, "mine", {"max_tensor_dims": 0}),
    ]
    for error, name, settings in wrong:
        backend = Adder()
        reference = weakref.ref(backend)
        with pytest.raises(error):
            fm.register_compute(name, backend, **settings)
        assert backend.ended == 0
        del backend
        gc.collect()
        assert reference() is None
    with pytest.raises(TypeError, match="run"):
        fm.register_compute("mine", 5)  # type: ignore[arg-type]
    with (
        fm.register_compute("mine", print, devices=["cuda:7"]),
        pytest.raises(fm.UnsupportedDeviceError, match="mine"),
    ):
        fm.Compute(device, backend="mine")


class OwnError(Exception):
    """An exception of the program."""


class Interruption(BaseException):
    """No Exception."""


def test_exceptions_become_errors(compute, adder):
    def raising(error):
        def act(_call):
            raise error

        return act

    for error, kind in [
        (OwnError("a reason"), fm.InternalError),
        (NotImplementedError("a reason"), fm.UnsupportedError),
        (fm.DeviceLostError(-33, "a reason"), fm.DeviceLostError),
        (OwnError("\ud800 a reason" + "é" * 4000), fm.InternalError),
    ]:
        adder.act = raising(error)
        with pytest.raises(kind, match=r'"adder": run of Add: .*a reason') as caught:
            compute.run("Add", [X, X])
        assert caught.value.__cause__ is error
    adder.act = raising(Interruption())
    with pytest.raises(Interruption):
        compute.run("Add", [X, X])
    with compute.sequence() as sequence:
        (y,) = sequence.add(compute.op("Add"), [X, X])
        with pytest.raises(Interruption):
            sequence.run()
        y.close()
    assert compute.statistics().live_blocks.current == 0
    # An error of the library has no cause.
    with pytest.raises(fm.InvalidArgumentError) as caught:
        compute.run("Add", [X])
    assert caught.value.__cause__ is None


def test_arrays_end_with_the_call(compute, adder):
    kept = []
    for keep in (
        lambda call: call.inputs[0].numpy(),
        lambda call: call.outputs[0].numpy()[1:, ::2].T,
        lambda call: memoryview(call.inputs[1].numpy()),
    ):
        adder.act = lambda call, keep=keep: kept.append(keep(call))
        with pytest.raises(fm.InvalidStateError, match="kept an array"):
            compute.run("Add", [X, X])
        kept.clear()
    adder.act = lambda call: kept.append(call.inputs[0])
    with compute.run("Add", [X, X])[0]:
        pass
    with pytest.raises(fm.InvalidStateError):
        kept[0].numpy()
    adder.act = lambda call: call.inputs[0].numpy().fill(1)
    with pytest.raises(fm.InternalError, match="read-only"):
        compute.run("Add", [X, X])
    adder.act = lambda call: kept.append(numpy.array(call.inputs[0], copy=True))
    with compute.run("Add", [X, X])[0]:
        assert numpy.array_equal(kept[-1], X)


def test_calls_from_inside(device, compute, adder):
    errors = []

    def act(_call):
        for call in (
            lambda: compute.run("Add", [X, X]),
            lambda: compute.close(),
            lambda: compute.close(force=True),
            lambda: compute.synchronize(),
            lambda: fm.shutdown(force=True),
            lambda: device.synchronize(),
        ):
            with pytest.raises(fm.InvalidStateError) as caught:
                call()
            errors.append(caught.value)
        with fm.register_compute("inner", print) as inner:
            assert not inner.closed

    adder.act = act
    with compute.run("Add", [X, X])[0] as y:
        assert numpy.array_equal(y, X + X)
    assert len(errors) == 6


def test_queued_runs_call_it_on_a_thread_of_the_stream(device, compute, adder):
    threads, gate = [], threading.Event()
    adder.act = lambda call: threads.append(threading.get_ident())
    with fm.Stream(device) as stream:
        stream.host_function(gate.wait)
        (y,) = compute.run("Add", [X, X], stream=stream)
        assert not threads
        gate.set()
        stream.synchronize()
        assert numpy.array_equal(y, X + X)
        assert threads != [threading.get_ident()]
        y.close()
        adder.act = lambda call: 1 / 0
        gate.clear()
        stream.host_function(gate.wait)
        (y,) = compute.run("Add", [X, X], stream=stream)
        gate.set()
        with pytest.raises(fm.InternalError, match="ZeroDivisionError"):
            stream.synchronize()
        y.close()
    assert "ZeroDivisionError" in compute.status()["last_error"]


def close_and_collect(opened):
    opened.close()
    gc.collect()


def test_a_registration_ends_after_its_backends(device):
    backend = Adder()
    made = fm.register_compute("mine", backend)
    with fm.Compute(device, backend="mine"):
        with pytest.raises(fm.BusyError, match="open 1 time"):
            made.close()
        assert not made.closed
    made.close()
    made.close()
    assert made.closed
    assert backend.ended == 1
    # The backend that is open keeps a registration that is collected.
    backend = Adder()
    opened = (fm.register_compute("mine", backend), fm.Compute(device, backend="mine"))[1]
    gc.collect()
    with opened.run("Add", [X, X])[0] as y:
        assert numpy.array_equal(y, X + X)
    with pytest.warns(ResourceWarning, match="RegisteredCompute mine"):
        close_and_collect(opened)
    assert backend.ended == 1
    with pytest.raises(fm.NotFoundError):
        fm.Compute(device, backend="mine")


def test_threads_run_one_backend(compute, adder):
    wrong = []

    def work(number):
        for _ in range(50):
            with compute.run("Add", [X, X * number])[0] as y:
                if not numpy.array_equal(y, X + X * number):
                    wrong.append(number)

    threads = [threading.Thread(target=work, args=(each,)) for each in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong
    assert len(adder.calls) == 200


def test_processes_end_with_a_registered_backend(run_python):
    opening = """
import numpy
x = numpy.ones(3, "float32")
made = fm.register_compute("mine", lambda call: numpy.copyto(call.outputs[0].numpy(), 5))
compute = fm.Compute("cpu:0", backend="mine")
(y,) = compute.run("Add", [x, x])
print(y.numpy()[0])
"""
    check(run_python, opening + "os._exit(0) if sys.stdout.flush() else None", "5.0\n")
    check(
        run_python,
        opening
        + """
child = os.fork()
if not child:
    expect(fm.ForkedError, compute.run, "Add", [x, x])
    expect(fm.ForkedError, fm.register_compute, "other", print)
    sys.stdout.flush()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
y.close(); compute.close(); made.close()
""",
        "5.0\n",
    )
    check(
        run_python,
        opening + "y.close(); fm.shutdown(force=True); assert made.closed and compute.closed",
        "5.0\n",
    )
    # Queued work runs before the exit.
    check(
        run_python,
        opening
        + """
import time
stream = fm.Stream(compute.device)
stream.host_function(lambda: time.sleep(0.2))
late = fm.register_compute("late", lambda call: print("ran"))
other = fm.Compute(compute.device, backend="late")
(z,) = other.run("Add", [x, x], stream=stream)
""",
        "5.0\nran\n",
    )
