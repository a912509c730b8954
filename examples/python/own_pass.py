"""Passes of the program: one removes operations that change nothing, one counts operations.

make build && PYTHONPATH=bindings/python/src python3 examples/python/own_pass.py

The build measures how many times faster the model runs after the pass. Needs NumPy.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import ferrum_mem as fm
import numpy

WIDTH, REPEATED = 256, 8
ROWS = {"shape": [-1, WIDTH], "dtype": "f32"}


def model() -> dict[str, Any]:
    """Relu of Relu of ... of x."""
    names = ["x", *(f"relu{at}" for at in range(REPEATED))]
    relus = [
        {
            "name": name,
            "layer_type": "Relu",
            "parameters": [],
            "inputs": [{"name": "in", **ROWS}],
            "outputs": [{"name": name, **ROWS}],
        }
        for name in names[1:]
    ]
    given = {
        "name": "x",
        "layer_type": "Input",
        "parameters": [],
        "inputs": [],
        "outputs": [{"name": "x", **ROWS}],
    }
    nodes: list[dict[str, Any]] = [{"id": name, "layer_name": name} for name in names]
    nodes[0]["metadata"] = {"dims": ["sequence", ""]}
    return {
        "metadata": {
            "name": "relus",
            "version": "1",
            "model_type": "relus",
            "architecture_family": "custom",
        },
        "architecture": {
            "name": "relus",
            "dimensions": {
                "vocab_size": 1,
                "hidden_size": WIDTH,
                "num_layers": 1,
                "num_heads": 1,
                "max_sequence_length": 512,
            },
        },
        "parameters": [],
        "layers": [given, *relus],
        "graph": {
            "inputs": ["x"],
            "outputs": [names[-1]],
            "nodes": nodes,
            "edges": [
                {"source": before, "target": after} for before, after in itertools.pairwise(names)
            ],
        },
    }


@fm.models.optimization_pass(dependencies=["merge_same"])
def join_relus(definition: dict[str, Any]) -> dict[str, Any] | None:
    """Removes each Relu that only another Relu reads."""
    graph, types = definition["graph"], {}
    layers = {layer["name"]: layer["layer_type"] for layer in definition["layers"]}
    for node in graph["nodes"]:
        types[node["id"]] = layers[node["layer_name"]]
    readers = Counter(edge["source"] for edge in graph["edges"])
    removed = {
        edge["source"]
        for edge in graph["edges"]
        if types[edge["source"]] == types[edge["target"]] == "Relu"
        and readers[edge["source"]] == 1
        and edge["source"] not in graph["outputs"]
    }
    if not removed:
        return None
    sources = {edge["target"]: edge["source"] for edge in graph["edges"]}
    kept = [edge for edge in graph["edges"] if edge["target"] not in removed]
    for edge in kept:
        while edge["source"] in removed:
            edge["source"] = sources[edge["source"]]
    graph["edges"] = kept
    graph["nodes"] = [node for node in graph["nodes"] if node["id"] not in removed]
    used = {node["layer_name"] for node in graph["nodes"]}
    definition["layers"] = [layer for layer in definition["layers"] if layer["name"] in used]
    return definition


@fm.models.optimization_pass(dependencies=["join_relus"])
def count(definition: dict[str, Any]) -> tuple[None, list[str]]:
    """Changes nothing, and states how many operations are left."""
    return None, [f"{len(definition['layers']) - 1} operations are left"]


def main() -> None:
    """Runs the passes alone, and in a build that measures them."""
    made = fm.models.optimize(model(), [count, "merge_same", join_relus])
    for result in made["passes"]:
        removed = result["stats"]["operations_eliminated"]
        print(f"{result['pass']}: applied {result['applied']}, {removed} removed", end="")
        print(f", {', '.join(result['warnings'])}" if result["warnings"] else "")

    options = fm.BuildOptions(passes=["merge_same", join_relus], measure_passes=True)
    x = numpy.linspace(-1, 1, 4 * WIDTH, dtype="float32").reshape(4, WIDTH)
    with fm.models.build(definition=model(), options=options) as built:
        (output,) = built(x=x).values()
        print(f"as before: {numpy.array_equal(output, numpy.maximum(x, 0))}")
        result = built.report()["passes"][1]
        print(f"measured: {result['times']['runs'] >= 5}")
        print(f"faster: {result['stats']['estimated_speedup'] > 1}")

    broken = fm.models.optimization_pass(lambda it: {**it, "layers": []}, name="broken")
    try:
        fm.models.optimize(model(), [broken])
    except fm.InvalidConfigError as error:
        print(f"refused: {error}".partition(": it made")[0])


if __name__ == "__main__":
    main()
