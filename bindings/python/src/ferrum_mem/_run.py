"""python -m ferrum_mem run: the vectors of texts or of ids by a model.

This part of the command is in Python, because it reads texts with the package tokenizers.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ._sentences import POOLINGS, Sentence, pool, sentence_of

# The exit statuses of the command.
_EXIT_USAGE = 2
_EXIT_MACHINE = 3


class _UsageError(Exception):
    """A request that cannot be met: the message states what is missing."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ferrum-mem run",
        description="Builds an encoder, and prints one vector for each text.",
    )
    parser.add_argument("model", metavar="MODEL", help="a folder with config.json, or a GGUF file")
    parser.add_argument("--text", action="append", default=[], help="a text; may be repeated")
    parser.add_argument(
        "--ids", action="append", default=[], help="ids of tokens, such as 101,7592,102; repeatable"
    )
    parser.add_argument("--tokenizer", metavar="FILE", help="default: tokenizer.json in MODEL")
    parser.add_argument("--pooling", choices=POOLINGS, help="default: that of the model")
    parser.add_argument("--device", default="cpu:0", help="default: cpu:0")
    parser.add_argument("--threads", type=int, default=0, help="threads that compute; 0: all")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def run(arguments: Sequence[str]) -> int:
    """Runs the verb with its arguments, and returns the exit status."""
    from .errors import FerrumError

    options = _parser().parse_args(arguments)
    try:
        _run(options)
    except (_UsageError, ValueError) as problem:
        print(f"ferrum-mem run: {problem}", file=sys.stderr)
        return _EXIT_USAGE
    except (FerrumError, OSError) as problem:
        print(f"ferrum-mem run: {problem}", file=sys.stderr)
        return _EXIT_MACHINE
    return 0


def _run(options: argparse.Namespace) -> None:
    try:
        import numpy
    except ModuleNotFoundError:
        raise _UsageError("the package numpy is not installed: pip install numpy") from None
    if not options.text and not options.ids:
        raise _UsageError("neither --text nor --ids is given")
    folder = Path(options.model)
    if not folder.exists():
        raise _UsageError(f"{folder} is no file or folder")
    from . import models

    sentence = _sentence(folder, _definition_of(folder), options.pooling)
    # Texts are read before the model is built, so that a missing package is noticed at once.
    tokens = [
        *_tokens_of(options.text, options.tokenizer or folder / "tokenizer.json"),
        *(_ids_of(each) for each in options.ids),
    ]
    with models.build(options.model, device=options.device, threads=options.threads) as model:
        info = model.info()
        most = info["dimensions"]["max_sequence_length"]
        if sentence.max_tokens is not None:
            most = min(most, sentence.max_tokens)
        # A text that is cut off keeps its last token, which ends it.
        cut = [each if len(each) <= most else [*each[: most - 1], each[-1]] for each in tokens]
        longest = max(len(each) for each in cut)
        ids = numpy.zeros((len(cut), longest), "int64")
        mask = numpy.zeros((len(cut), longest), "int64")
        for at, each in enumerate(cut):
            ids[at, : len(each)], mask[at, : len(each)] = each, 1
        inputs: dict[str, Any] = {"input_ids": ids, "attention_mask": mask}
        hidden = model.run(inputs, ["last_hidden_state"])["last_hidden_state"]
        vectors = pool(hidden.numpy().copy(), mask, sentence)
        hidden.close()
    names = [*options.text, *options.ids]
    if options.json:
        rows = [
            {"input": name, "tokens": len(row), "is_cut": len(row) < len(whole), "vector": vector}
            for name, row, whole, vector in zip(names, cut, tokens, vectors.tolist(), strict=True)
        ]
        result = {"model": info["id"], "pooling": sentence.pooling, "vectors": rows}
        print(json.dumps(result))
        return
    for vector in vectors.tolist():
        print(*(f"{each:.8g}" for each in vector))


def _definition_of(folder: Path) -> str:
    from . import errors, models

    try:
        return models.export(folder)
    except (errors.NotFoundError, errors.InvalidFormatError, errors.UnsupportedError) as problem:
        raise _UsageError(str(problem)) from None


def _sentence(folder: Path, definition: str, pooling: str | None) -> Sentence:
    found = sentence_of(definition)
    if found is not None:
        return found if pooling is None else replace(found, pooling=pooling)
    if pooling is None:
        raise _UsageError(f"{folder} does not state its pooling: give --pooling")
    return Sentence(pooling)


def _tokens_of(texts: list[str], file: str | Path) -> list[list[int]]:
    if not texts:
        return []
    try:
        tokenizers = importlib.import_module("tokenizers")
    except ModuleNotFoundError:
        raise _UsageError(
            "--text needs the package tokenizers, which is not installed: pip install tokenizers. "
            "Or give the ids of the tokens with --ids."
        ) from None
    if not Path(file).is_file():
        raise _UsageError(f"{file} is no file: give --tokenizer, or the ids with --ids")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(file))
    except Exception as problem:  # the package raises no class of its own
        raise _UsageError(f"{file}: {problem}") from None
    # The file may ask for a length of its own. The model's length is what counts here.
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return [list(each.ids) for each in tokenizer.encode_batch(texts)]


def _ids_of(text: str) -> list[int]:
    try:
        found = [int(each) for each in text.split(",")]
    except ValueError:
        raise _UsageError(f"--ids {text!r}: expected whole numbers with commas") from None
    if any(not -(1 << 63) <= each < 1 << 63 for each in found):
        raise _UsageError(f"--ids {text!r}: an id is out of range")
    return found
