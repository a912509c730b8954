"""The published schema of definitions against the command, with a validator that is not ours.

The command checks more than the form, so it rejects all that the schema rejects. A text that the
command cannot read at all is one that the schema rejects.
"""

from __future__ import annotations

import copy
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "core" / "ir" / "testdata").glob("*.json"))
CONFIGS = ROOT / "core" / "estimate" / "testdata" / "configs"
ENCODERS = (
    "all-minilm-l6-v2 all-mpnet-base-v2 bert-base-uncased bert-large-uncased camembert-base "
    "distilbert-base-uncased roberta-base xlm-roberta-base"
)
MODELS = [
    ROOT / "core" / "ir" / "testdata" / "example.json",
    *(CONFIGS / f"{name}.json" for name in ENCODERS.split()),
]
SCHEMA = json.loads((ROOT / "docs" / "model_definition.schema.json").read_text("utf-8"))
# Exit statuses of the command.
PRINTED, WRONG, UNREADABLE = 0, 1, 2
# Each value of a definition is replaced by each of these.
REPLACEMENTS: dict[str, Any] = {
    "null": None,
    "text": "?",
    "number": -7,
    "fraction": 0.5,
    "flag": True,
    "list": [[]],
    "object": {"unknown": 1},
}


@pytest.fixture(scope="module")
def command() -> str:
    path = os.environ.get("FERRUM_MEM_COMMAND", str(ROOT / "build" / "bin" / "ferrum-mem"))
    assert Path(path).is_file(), f"{path} is not there: make build"
    return path


@pytest.fixture(scope="module")
def conforms() -> Any:
    check = fastjsonschema.compile(SCHEMA)

    def conforms(definition: Any) -> bool:
        try:
            check(definition)
        except fastjsonschema.JsonSchemaException:
            return False
        return True

    return conforms


def graph(command: str, path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [command, "graph", "--json", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_there_are_definitions() -> None:
    assert len(FILES) >= 3


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_exports_conform(path: Path, conforms: Any) -> None:
    assert conforms(json.loads(path.read_text("utf-8")))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_the_output_of_the_command_conforms(path: Path, command: str, conforms: Any) -> None:
    done = graph(command, path)
    assert done.returncode == PRINTED, done.stderr
    assert conforms(json.loads(done.stdout))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the path of each value in a definition."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value[:3]):
            yield from places(inner, (*path, at))


def changed(definition: Any, path: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """Yields copies of a definition with one change at a place."""
    for name, put in REPLACEMENTS.items():
        copied = copy.deepcopy(definition)
        inner = copied
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = put
        yield name, copied
    if isinstance(path[-1], str):
        copied = copy.deepcopy(definition)
        inner = copied
        for key in path[:-1]:
            inner = inner[key]
        del inner[path[-1]]
        yield "missing", copied


def test_the_schema_and_the_command_agree(command: str, conforms: Any, tmp_path: Path) -> None:
    definition = json.loads((ROOT / "core" / "ir" / "testdata" / "example.json").read_text("utf-8"))
    file = tmp_path / "changed.json"
    rejected = 0
    for path in list(places(definition))[1:]:
        for name, copied in changed(definition, path):
            file.write_text(json.dumps(copied), "utf-8")
            status = graph(command, file).returncode
            where = ".".join(map(str, path)) + " " + name
            assert status in (PRINTED, WRONG, UNREADABLE), where
            if conforms(copied):
                assert status != UNREADABLE, f"{where}: the schema allows it"
            else:
                rejected += 1
                assert status != PRINTED, f"{where}: the schema rejects it"
    assert rejected > 300
