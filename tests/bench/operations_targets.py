"""The targets of operations on tensors."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable

from book import Book, MissingError, Result, number, precise
from harness import CROSSING, BenchError
from operations import (
    BARE_LAYER,
    LAYERS,
    LOOP,
    NAIVE,
    OPENBLAS,
    SETS,
    SHAPES,
    SUM,
    TILED,
    TITLES,
    TOKENS,
    TYPES,
)
from verdict import Reading, Target

# If two plain loops do less than this in the time of one, no second core was free.
FREE_CORES = 1.8
ERROR_MOST = 1e-5
STEP_MOST = 60
MEAN_LEAST = {"avx512": 1.15, "avx2": 1.05}


def checked(entry: Result) -> Result:
    """A result whose output was compared with float64."""
    if entry.get("missing"):
        raise MissingError(entry["missing"])
    if entry.get("error") is None:
        raise MissingError("the output was not checked")
    return entry


def measured(book: Book, name: str, peer: str | None = None) -> Result:
    """A checked result of that name."""
    for entry in book.named(name):
        if entry.get("missing") or entry["peer"] == peer:
            return checked(entry)
    raise BenchError(f"the results lack {name}")


def paired(book: Book, name: str, peer: str) -> float:
    """The median of the quotients of neighbouring measurements."""
    return float(measured(book, name, peer)["pairs"]["median"])


def smallest(values: Iterable[tuple[float, str]], unit: str = "") -> Reading:
    """The smallest value, and where it is."""
    value, where = min(values)
    return Reading(value, f"{precise(value)} at {where}{unit}")


def product_mean(instructions: str) -> Callable[[Book], Reading]:
    """The geometric mean over all shapes."""

    def read(book: Book) -> Reading:
        values = [paired(book, f"product_{instructions}_{s}", OPENBLAS) for s in SHAPES]
        mean = statistics.geometric_mean(values)
        return Reading(mean, precise(mean))

    return read


def product_least(instructions: str) -> Callable[[Book], Reading]:
    """The shape with our worst result."""

    def read(book: Book) -> Reading:
        return smallest(
            (paired(book, f"product_{instructions}_{shape}", OPENBLAS), shape) for shape in SHAPES
        )

    return read


def two_threads(book: Book) -> Reading:
    """The shape that scales worst, over a plain loop."""
    shapes = [shape for shape in SHAPES if int(shape.partition("x")[0]) >= 128]
    found = smallest((paired(book, f"two_threads_product_{s}", LOOP), s) for s in shapes)
    loop = min(book.peer(f"two_threads_product_{s}", LOOP) for s in shapes)
    doubt = "" if loop >= FREE_CORES else f"two plain loops reached only {number(loop)}"
    return found._replace(doubt=doubt)


def stream(name: str) -> Callable[[Book], Reading]:
    """The rate of a product over that of a sum."""

    def read(book: Book) -> Reading:
        share = paired(book, f"stream_{name}", SUM)
        entry = measured(book, f"stream_{name}", SUM)
        return Reading(
            share, f"{precise(share)} ({number(entry['value_ours'])} of "
            f"{number(entry['value_peer'])} GB/s)"
        )  # fmt: skip

    return read


def attention(peer: str, least: int) -> Callable[[Book], Reading]:
    """The number of tokens with our worst result, from some number on."""

    def read(book: Book) -> Reading:
        counts = [tokens for tokens in TOKENS if tokens >= least]
        return smallest(
            ((paired(book, f"attention_{tokens}", peer), str(tokens)) for tokens in counts),
            " tokens",
        )

    return read


def attention_memory(book: Book) -> float:
    """The most that a number of tokens needs."""
    return max(float(measured(book, f"attention_{t}_memory")["value_ours"]) for t in TOKENS)


def largest_error(book: Book) -> Reading:
    """The largest error of a result in F32."""
    prefixes = ("product_", "two_threads_product_", "stream_", "call_add", "step_", "attention_")
    others = ("stream_f16", "stream_bf16")
    found = [
        (float(checked(entry)["error"]), entry["name"])
        for entry in book.results
        if entry["name"].startswith(prefixes)
        and entry["name"] not in others
        and entry.get("type", "float32") == "float32"
        and not entry.get("missing")
    ]
    if not found:
        raise MissingError("no result was checked")
    error, name = max(found)
    return Reading(error, f"{error:.1e} ({name})")


def call(book: Book) -> Reading:
    """A call in multiples of a bare crossing."""
    multiple = paired(book, "call_add", CROSSING)
    entry = measured(book, "call_add", CROSSING)
    ours, bare = entry["value_ours"], entry["value_peer"]
    return Reading(multiple, f"{number(multiple)} ({number(ours)} beside {number(bare)} ns)")


def step(book: Book) -> Reading:
    """The slowest step, and how many are slower than the limit."""
    entries = [checked(entry) for entry in book.results if entry["name"].startswith("step_")]
    if not entries:
        raise BenchError("the results lack steps")
    slowest = max(entries, key=lambda entry: float(entry["value_ours"]))
    slow = sum(float(entry["value_ours"]) > STEP_MOST for entry in entries)
    value = float(slowest["value_ours"])
    name = slowest["name"].removeprefix("step_")
    return Reading(value, f"{number(value)} ns ({name}; {slow} of {len(entries)} are slower)")


def layer(name: str) -> Callable[[Book], Reading]:
    """What the call of a layer in C costs beyond the bare function, in microseconds."""

    def read(book: Book) -> Reading:
        if not any(entry["name"] == name for entry in book.results):
            raise MissingError("it was not measured")
        entry = measured(book, name, BARE_LAYER)
        value = (float(entry["value_ours"]) - float(entry["value_peer"])) / 1000
        return Reading(value, f"{precise(value)} µs")

    return read


def layer_in_python(book: Book) -> Reading:
    """The call of a layer in Python on the slower engine, in microseconds."""
    names = [name for name in LAYERS.values() if name.startswith("layer_python")]
    found = [entry for entry in book.results if entry["name"] in names]
    if not found:
        raise MissingError("it was not measured")
    entry = max(map(checked, found), key=lambda each: float(each["value_ours"]))
    value = float(entry["value_ours"]) / 1000
    return Reading(value, f"{precise(value)} µs ({entry['name']})")


def warm(book: Book) -> Reading:
    """What warm runs take from the device."""
    entry = measured(book, "warm_bytes")
    taken = float(entry["value_ours"]) + float(entry["segments"])
    return Reading(taken, f"{number(entry['value_ours'])} B in {entry['runs']} runs")


TARGETS = (
    *(
        target
        for key in SETS
        for target in (
            Target(f"product_{key}_mean",
                   f"matrix products, {TITLES[key]}, one thread: rate ÷ OpenBLAS', mean of "
                   f"{len(SHAPES)} shapes",
                   product_mean(key), MEAN_LEAST[key], least=True),
            Target(f"product_{key}_least", f"the same, {TITLES[key]}: the worst shape",
                   product_least(key), 0.9, least=True),
        )
    ),
    *(
        Target(f"stream_{name}",
               f"one row × 4096², {name}, not in a cache: rate ÷ a vector sum's",
               stream(name), 0.9, least=True)
        for name in TYPES if name != "q4_0"
    ),
    Target("two_threads_product",
           "matrix products of ≥ 128 rows in a sequence, two threads: scaling ÷ a plain loop's, "
           "the worst shape",
           two_threads, 0.9, least=True),
    Target("attention_naive", "attention, 128 to 4096 tokens: naive NumPy ÷ ours, the worst",
           attention(NAIVE, 0), 2, least=True),
    Target("attention_tiled", "attention from 512 tokens on: NumPy in tiles ÷ ours, the worst",
           attention(TILED, 512), 1.3, least=True),
    Target("attention_memory", "attention: memory beside inputs and outputs, the most",
           attention_memory, 2, "MB"),
    Target("operation_error", "operations in F32: largest error ÷ largest element",
           largest_error, ERROR_MOST),
    Target("call_add", "addition of 16 elements through the ABI ÷ a bare C-to-Go call", call, 6),
    Target("step", "a step on 16 elements in a bound sequence, the slowest", step, STEP_MOST,
           "ns"),
    Target("layer_c", "a call of a layer of the program in C, in a model, beyond its function",
           layer("layer_c"), 0.5, "µs"),
    Target("layer_c_runtime", "the same, in a model of ONNX Runtime", layer("layer_c_runtime"), 3,
           "µs"),
    Target("layer_python", "a call of a layer in Python, in a model, on the slower engine",
           layer_in_python, 15, "µs"),
    Target("warm", "warm runs: memory taken from the device", warm, 0, "B", text="none"),
)  # fmt: skip
