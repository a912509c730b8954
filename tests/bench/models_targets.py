"""The targets of models."""

from __future__ import annotations

from collections.abc import Callable

from book import Book, number, precise
from models import BARE, COPY, MASKS, PEAKS, READ, RUNTIME, SHAPES
from operations_targets import ERROR_MOST, measured, paired
from verdict import Reading, Target

# The floats of a token that a layer needs at once: its inputs, and what is between its products.
TOKEN_FLOATS = 2304
ROOM_BYTES = 500_000


def slowest(what: str) -> Callable[[Book], Reading]:
    """The largest quotient of our time and the peer's, and where it is."""

    def read(book: Book) -> Reading:
        value, shape, mask = max(
            (paired(book, f"minilm_{shape}_{mask}_{what}", RUNTIME), shape, mask)
            for shape in SHAPES
            for mask in MASKS
        )
        return Reading(value, f"{precise(value)} at {shape}, mask {mask}")

    return read


def activations(book: Book) -> Reading:
    """The largest quotient of the activations with the workspace, and their bound."""
    found = []
    for shape in SHAPES:
        batch, tokens = map(int, shape.split("x"))
        taken = float(measured(book, f"minilm_{shape}_activations")["value_ours"]) * 1e6
        found.append((taken / (TOKEN_FLOATS * batch * tokens * 4 + ROOM_BYTES), taken, shape))
    value, taken, shape = max(found)
    return Reading(value, f"{precise(value)} at {shape} ({number(taken / 1e6)} MB)")


def warm(book: Book) -> Reading:
    """How much warm runs take from the memory of the backend."""
    taken = sum(
        int(measured(book, f"minilm_{shape}_activations")["warm_allocations"]) for shape in SHAPES
    )
    return Reading(taken, str(taken))


def peak(book: Book) -> Reading:
    """The largest quotient of our arena and the peer's peak, and where it is."""
    found = []
    for shape in PEAKS:
        entry = measured(book, f"minilm_{shape}_peak", RUNTIME)
        found.append((entry["value_ours"] / entry["value_peer"], shape, entry))
    value, shape, entry = max(found, key=lambda each: each[0])
    ours, theirs = number(entry["value_ours"]), number(entry["value_peer"])
    return Reading(value, f"{ours} ÷ {theirs} MB = {precise(value)} at {shape}")


def life(name: str, peer: str) -> Callable[[Book], Reading]:
    """The median quotient of our time and a peer's."""

    def read(book: Book) -> Reading:
        value = paired(book, name, peer)
        entry = measured(book, name, peer)
        ours, theirs = number(entry["value_ours"]), number(entry["value_peer"])
        return Reading(value, f"{precise(value)} ({ours} beside {theirs} ms)")

    return read


def wake(book: Book) -> Reading:
    """The quotient of the time of a read and that of a wake."""
    value = life("minilm_wake", READ)(book).value
    entry = measured(book, "minilm_wake", READ)
    ours, theirs = number(entry["value_ours"]), number(entry["value_peer"])
    return Reading(1 / value, f"{precise(1 / value)} ({theirs} beside {ours} ms)")


def asleep(book: Book) -> Reading:
    """The part of the model's bytes that a sleeping model keeps."""
    entry = measured(book, "minilm_asleep")
    taken, whole = float(entry["value_ours"]), entry["model_bytes"] / 1e6
    return Reading(taken / whole, f"{number(taken)} of {number(whole)} MB")


def error(book: Book) -> Reading:
    """The largest difference of a hidden state from NumPy's in float64."""
    value, shape = max(
        (float(measured(book, f"minilm_{shape}_{mask}_cpu", RUNTIME)["error"]), shape)
        for shape in SHAPES
        for mask in MASKS
    )
    return Reading(value, f"{value:.1e} at {shape}")


def in_runtime(book: Book) -> Reading:
    """The largest quotient of the times of ONNX Runtime as an engine and of bare ONNX Runtime."""
    value, shape = max((paired(book, f"runtime_{shape}_cpu", BARE), shape) for shape in SHAPES)
    return Reading(value, f"{precise(value)} at {shape}")


def alone(name: str, unit: str) -> Callable[[Book], Reading]:
    """A value without a peer."""

    def read(book: Book) -> Reading:
        value = float(measured(book, name)["value_ours"])
        return Reading(value, f"{number(value)} {unit}")

    return read


def runtime_asleep(book: Book) -> Reading:
    """The part of the memory of a model that its process keeps asleep."""
    entry = measured(book, "runtime_asleep")
    asleep, awake = float(entry["value_ours"]), entry["awake_bytes"] / 1e6
    return Reading(asleep / awake, f"{number(asleep)} of {number(awake)} MB")


def runtime_wake(book: Book) -> Reading:
    """The quotient of the time of a copy and that of a wake."""
    value = life("runtime_wake", COPY)(book).value
    entry = measured(book, "runtime_wake", COPY)
    ours, theirs = number(entry["value_ours"]), number(entry["value_peer"])
    return Reading(1 / value, f"{precise(1 / value)} ({theirs} beside {ours} ms)")


def difference(book: Book) -> Reading:
    """The largest difference between the hidden states of the two engines."""
    value = float(measured(book, "runtime_session")["difference"])
    return Reading(value, f"{value:.1e}")


TARGETS = (
    Target("minilm_cpu",
           f"MiniLM, CPU time of one thread ÷ onnxruntime's, {len(SHAPES)} shapes, masks full and "
           "half full: the worst", slowest("cpu"), 1),
    Target("minilm_wall", "MiniLM, time of two threads ÷ the best of onnxruntime: the worst",
           slowest("wall"), 1),
    Target("minilm_activations",
           "MiniLM, activations with the workspace ÷ (2304 floats a token + 0.5 MB): the most",
           activations, 1),
    Target("minilm_peak", "MiniLM, activations ÷ onnxruntime's peak of live blocks: the worst of "
           "1x128 and 8x128", peak, 0.25),
    Target("minilm_warm", "MiniLM, warm runs: allocations", warm, 0, text="none"),
    Target("minilm_error", "MiniLM, hidden states: largest difference from float64", error,
           ERROR_MOST),
    Target("minilm_build_wall", "MiniLM, file in the page cache: time of a build ÷ that of a "
           "session of onnxruntime", life("minilm_build_wall", RUNTIME), 0.8),
    Target("minilm_build_cpu", "the same: CPU time", life("minilm_build_cpu", RUNTIME), 0.8),
    Target("minilm_asleep", "MiniLM asleep: memory of the device ÷ the model's bytes", asleep,
           0.02),
    Target("minilm_wake", "MiniLM: time of reading the file into new memory ÷ that of a wake",
           wake, 0.9, least=True),
    Target("runtime_cpu", f"MiniLM in ONNX Runtime as an engine, CPU time of a run ÷ that of bare "
           f"ONNX Runtime with the same settings, {len(SHAPES)} shapes: the worst", in_runtime,
           1.05),
    Target("runtime_difference", "the same: largest difference of a hidden state from the CPU "
           "engine's", difference, ERROR_MOST),
    Target("runtime_anonymous", "the same: anonymous memory of a model beyond what the pool gave, "
           "in MB", alone("runtime_anonymous", "MB"), 5),
    Target("runtime_session", "the same: time of a session from weights in the pool, in ms",
           alone("runtime_session", "ms"), 25),
    Target("runtime_asleep", "the same: memory of the process asleep ÷ awake", runtime_asleep, 0.2),
    Target("runtime_wake", "the same: time of a copy into new memory ÷ that of a wake",
           runtime_wake, 0.9, least=True),
)  # fmt: skip
