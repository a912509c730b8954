"""The targets of models."""

from __future__ import annotations

from collections.abc import Callable

from book import Book, number, precise
from models import MASKS, RUNTIME, SHAPES
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


def error(book: Book) -> Reading:
    """The largest difference of a hidden state from NumPy's in float64."""
    value, shape = max(
        (float(measured(book, f"minilm_{shape}_{mask}_cpu", RUNTIME)["error"]), shape)
        for shape in SHAPES
        for mask in MASKS
    )
    return Reading(value, f"{value:.1e} at {shape}")


TARGETS = (
    Target("minilm_cpu",
           f"MiniLM, CPU time of one thread ÷ onnxruntime's, {len(SHAPES)} shapes, masks full and "
           "half full: the worst", slowest("cpu"), 1),
    Target("minilm_wall", "MiniLM, time of two threads ÷ the best of onnxruntime: the worst",
           slowest("wall"), 1),
    Target("minilm_activations",
           "MiniLM, activations with the workspace ÷ (2304 floats a token + 0.5 MB): the most",
           activations, 1),
    Target("minilm_warm", "MiniLM, warm runs: allocations", warm, 0, text="none"),
    Target("minilm_error", "MiniLM, hidden states: largest difference from float64", error,
           ERROR_MOST),
)  # fmt: skip
