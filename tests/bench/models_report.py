"""The table of models, in Markdown."""

from __future__ import annotations

from book import Book, label, number, spread, table

LIFE = {
    "minilm_build_wall": "build, time",
    "minilm_build_cpu": "build, CPU time",
    "minilm_asleep": "memory of the device while it sleeps",
    "minilm_wake": "wake",
    "runtime_anonymous": "in ONNX Runtime, memory beyond the pool's",
    "runtime_session": "in ONNX Runtime, a session",
    "runtime_asleep": "in ONNX Runtime, memory of the process while it sleeps",
    "runtime_wake": "in ONNX Runtime, wake",
}


def text_of(name: str) -> str:
    """The display name of a value."""
    if name in LIFE:
        return f"MiniLM, {LIFE[name]}"
    kind, shape, *rest = name.split("_")
    what = {"cpu": "CPU time, one thread", "wall": "time, two threads"}
    text = ", ".join(what.get(word, f"mask {word}") for word in rest)
    if rest == ["activations"]:
        text = "activations and workspace"
    if rest == ["peak"]:
        text = "activations beside the peer's peak"
    if kind == "runtime":
        text += ", in ONNX Runtime"
    return f"MiniLM {shape.replace('x', ' × ')}, {text}"


def minilm_lines(book: Book) -> list[str]:
    """Times beside those of the peer, and the memory of a run."""
    rows = []
    for entry in book.results:
        if not entry["name"].startswith(("minilm_", "runtime_")):
            continue
        if entry.get("missing"):
            rows.append([text_of(entry["name"]), f"missing: {entry['missing']}", *["–"] * 5])
            continue
        peer, pairs, unit = entry["peer"], entry.get("pairs"), entry["unit"]
        rows.append([
            text_of(entry["name"]),
            f"{number(entry['value_ours'])} {unit}",
            spread(entry["spread"]["ours"]),
            label(peer, entry["peer_version"]) if peer else "–",
            f"{number(entry['value_peer'])} {unit}" if peer else "–",
            f"{number(pairs['median'])} ({spread(pairs)})" if pairs else "–",
            f"{entry['error']:.1e}",
        ])  # fmt: skip
    if not rows:
        return []
    header = ["batch × tokens", "**ours**", "middle half", "peer", "its value", "quotient", "error"]
    return ["", "### Models", "", *table(header, rows)]
