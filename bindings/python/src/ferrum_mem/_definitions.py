"""Definitions of models as arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from . import _abi
from ._values import wrong_class
from .errors import InvalidArgumentError

# A definition: its JSON, or the decoded object.
Definition = str | bytes | Mapping[str, Any]


def json_of(name: str, value: Any) -> bytes:
    """The JSON of a value."""
    try:
        return json.dumps(value).encode()
    except (TypeError, ValueError, RecursionError) as problem:
        raise InvalidArgumentError(
            _abi.FERRUM_ERROR_INVALID_ARGUMENT, f"{name} is not JSON: {problem}"
        ) from None


def text_of(definition: Definition) -> bytes:
    """The JSON of a definition."""
    if isinstance(definition, Mapping):
        return json_of("definition", dict(definition))
    if isinstance(definition, str):
        return definition.encode()
    if isinstance(definition, bytes):
        return definition
    raise wrong_class("definition", "a str, bytes or a mapping", definition)
