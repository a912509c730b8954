"""Tables of operations on tensors, in Markdown."""

from __future__ import annotations

from book import Book, Result, label, number, spread, table
from operations import TITLES

# The name of a value up to the part that tells its rows apart, and its display name.
KINDS = {
    **{f"product_{key}_": f"product, {title}, " for key, title in TITLES.items()},
    "two_threads_product_": "product, two threads over one, ",
    "stream_": "one row × 4096², matrices in no cache, ",
    "call_add": "addition of 16 elements through the ABI",
    "layer_c_runtime": "call of a layer of the program in C, in a model of ONNX Runtime",
    "layer_python_runtime": "call of a layer in Python, in a model of ONNX Runtime",
    "layer_c": "call of a layer of the program in C, in a model",
    "layer_python": "call of a layer in Python, in a model",
    "attention_": "attention, tokens: ",
}


def text_of(name: str) -> str | None:
    """The display name of a value that is in the first table."""
    for prefix, text in KINDS.items():
        if name.startswith(prefix):
            return text + name.removeprefix(prefix).replace("x", " × ").replace("_m", ", m")
    return None


def row_of(entry: Result) -> list[str] | None:
    """A row: ours, the peer, and the quotients of neighbouring measurements."""
    text = text_of(entry["name"])
    if text is None:
        return None
    if entry.get("missing"):
        return [text, f"missing: {entry['missing']}", *["–"] * 5]
    peer, pairs = entry["peer"], entry.get("pairs")
    unit = "" if entry["unit"] == "ratio" else f" {entry['unit']}"
    cells = [f"{number(entry['value_ours'])}{unit}", spread(entry["spread"]["ours"])]
    cells += [label(peer, entry["peer_version"]) if peer else "–"]
    cells += [f"{number(entry['value_peer'])}{unit}" if peer else "–"]
    cells += [f"{number(pairs['median'])} ({spread(pairs)})" if pairs else "–"]
    return [text, *cells, f"{entry['error']:.1e}"]


def operation_lines(book: Book) -> list[str]:
    """Both tables: rows with a peer, and steps of bound sequences."""
    rows = [row for row in map(row_of, book.results) if row is not None]
    if not rows:
        return []
    header = ["what", "**ours**", "middle half", "peer", "its value", "quotient", "error"]
    lines = ["", "### Operations on tensors", "", *table(header, rows)]
    steps = [
        [
            entry["name"].removeprefix("step_"),
            f"{number(entry['value_ours'])} ns",
            spread(entry["spread"]["ours"]),
            f"{entry['error']:.1e}",
        ]
        for entry in book.results
        if entry["name"].startswith("step_")
    ]
    lines += ["### Steps of a bound sequence, on 16 elements", ""]
    return lines + table(["operation", "a step", "middle half", "error"], steps)
