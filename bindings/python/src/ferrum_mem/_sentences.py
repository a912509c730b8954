"""Texts to vectors: truncation and pooling, as the definition of a model states them.

The library computes the vectors of tokens.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

POOLINGS = ("mean", "cls", "max")


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


def sentence_of(definition: str) -> Sentence | None:
    """How a definition states that a text becomes a vector; None: it does not."""
    found = json.loads(definition)["metadata"].get("additional", {}).get("sentence")
    if found is None:
        return None
    return Sentence(found["pooling"], found["is_normalized"], found["max_tokens"] or None)


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
