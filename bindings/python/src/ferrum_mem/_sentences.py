"""Texts to vectors: tokens, truncation and pooling, as the files beside a model state them.

The library computes the vectors of tokens. The files are those of sentence-transformers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

POOLINGS = ("mean", "cls", "max")
# Rules of a module of the type Pooling that are known here, by their key.
_RULES = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
}


@dataclass(frozen=True)
class Sentence:
    """How a model makes one vector of a text.

    Attributes:
        pooling: one of POOLINGS.
        is_normalized: whether the vector is divided by its Euclidean norm.
        max_tokens: a text is cut off after this number of tokens; None: not stated.
    """

    pooling: str
    is_normalized: bool = False
    max_tokens: int | None = None


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except ValueError as problem:
        raise ValueError(f"{path}: {problem}") from None


def read_sentence(folder: Path) -> Sentence | None:
    """What modules.json of a folder states; None without such a file.

    Raises:
        ValueError: a module or a rule that is not known here.
        OSError: a file that modules.json names cannot be read.
    """
    file = folder / "modules.json"
    if not file.is_file():
        return None
    pooling, is_normalized, max_tokens = "", False, None
    modules = _read(file)
    if not isinstance(modules, list) or not all(
        isinstance(each, dict)
        and isinstance(each.get("type"), str)
        and isinstance(each.get("path", ""), str)
        for each in modules
    ):
        raise ValueError(f"{file}: is no list of modules with type and path")
    for at, each in enumerate(modules):
        kind, path = each["type"].rpartition(".")[2], folder / each.get("path", "")
        if not path.resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"{file}: [{at}].path: {each['path']!r} is not in the folder")
        if (kind, at) == ("Transformer", 0):
            settings = path / "sentence_bert_config.json"
            if settings.is_file():
                max_tokens = _positive(settings, _read(settings), "max_seq_length")
        elif (kind, at) == ("Pooling", 1):
            pooling = _pooling(path / "config.json")
        elif (kind, at) == ("Normalize", 2):
            is_normalized = True
        else:
            raise ValueError(
                f"{file}: [{at}].type: {each['type']!r} is not known here: expected Transformer, "
                "Pooling, Normalize"
            )
    if not pooling:
        raise ValueError(f"{file}: there is no module of the type Pooling")
    return Sentence(pooling, is_normalized, max_tokens)


def _positive(file: Path, settings: Any, key: str) -> int | None:
    found = settings.get(key) if isinstance(settings, dict) else None
    if found is not None and (type(found) is not int or found < 1):
        raise ValueError(f"{file}: {key}: {found!r} is no number of at least 1")
    return found


def _pooling(file: Path) -> str:
    settings = _read(file)
    if not isinstance(settings, dict):
        raise ValueError(f"{file}: is no object")
    chosen = [key for key in settings if key.startswith("pooling_mode") and settings[key]]
    rules = [_RULES.get(key) for key in chosen]
    if len(rules) != 1 or rules[0] is None:
        raise ValueError(f"{file}: has {chosen}: expected one of {list(_RULES)}")
    return rules[0]


def pool(hidden: Array, mask: Array, sentence: Sentence) -> Array:
    """One vector for each text.

    Args:
        hidden: the vectors of the tokens, [texts, tokens, size].
        mask: 1 for each token that counts, [texts, tokens]. Each text has one.
        sentence: the rule.
    """
    import numpy

    counts = mask[:, :, None].astype(hidden.dtype)
    if sentence.pooling == "cls":
        made = hidden[:, 0]
    elif sentence.pooling == "max":
        made = numpy.where(counts > 0, hidden, -numpy.inf).max(1)
    else:
        made = (hidden * counts).sum(1) / counts.sum(1)
    if sentence.is_normalized:
        made = made / numpy.maximum(numpy.linalg.norm(made, axis=1, keepdims=True), 1e-12)
    return made
