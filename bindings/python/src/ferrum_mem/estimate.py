"""Estimation: the memory of a model, computed before loading it.

Nothing here starts the library or queries a device.
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _abi, _native, _records
from ._arguments import file_path, object_of
from ._values import u64, wrong_class
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from .results import Estimate

_MB = 1 << 20
_GB = 1 << 30


class InferenceMemoryEstimate(_records.InferenceMemoryEstimate):
    """The result of estimate_inference_memory, with the fields of the library's record."""

    def total_gb(self) -> float:
        """The total in units of 2**30 bytes."""
        return self.total_bytes / _GB

    def total_mb(self) -> float:
        """The total in units of 2**20 bytes."""
        return self.total_bytes / _MB

    def model_mb(self) -> float:
        """The weights in units of 2**20 bytes."""
        return self.model_bytes / _MB

    def kv_cache_mb(self) -> float:
        """The KV cache in units of 2**20 bytes."""
        return self.kv_cache_bytes / _MB

    def activation_mb(self) -> float:
        """The activations in units of 2**20 bytes."""
        return self.activation_bytes / _MB

    def __str__(self) -> str:
        return (
            f"model {self.model_mb():.2f} MiB + KV cache {self.kv_cache_mb():.2f} MiB"
            f" + activations {self.activation_mb():.2f} MiB"
            f" = {self.total_mb():.2f} MiB ({self.total_gb():.2f} GiB)"
        )


def estimate_model_memory(
    hidden_size: int,
    intermediate_size: int,
    n_layers: int,
    vocab_size: int,
    n_heads: int,
    n_kv_heads: int,
    dtype_bytes: int,
) -> int:
    """Bytes of the weights of a transformer with gated MLPs, by the short formula."""
    shape = _model_shape(
        hidden_size=hidden_size,
        intermediate_size=intermediate_size,
        num_layers=n_layers,
        vocab_size=vocab_size,
        num_heads=n_heads,
        num_kv_heads=n_kv_heads,
        dtype_bytes=dtype_bytes,
    )
    out = ctypes.c_uint64()
    library = _native.functions()
    _native.check(library.ferrum_estimate_model_memory(ctypes.byref(shape), ctypes.byref(out)))
    return out.value


def estimate_kv_cache_memory(
    n_layers: int, n_kv_heads: int, head_dim: int, max_seq_len: int, dtype_bytes: int
) -> int:
    """Bytes of the keys and values of one sequence, by the short formula."""
    shape = _abi.ferrum_kv_cache_shape.init()
    _fill(
        shape,
        num_layers=n_layers,
        num_kv_heads=n_kv_heads,
        head_dim=head_dim,
        max_seq_len=max_seq_len,
        dtype_bytes=dtype_bytes,
    )
    out = ctypes.c_uint64()
    library = _native.functions()
    _native.check(library.ferrum_estimate_kv_cache_memory(ctypes.byref(shape), ctypes.byref(out)))
    return out.value


def estimate_inference_memory(
    hidden_size: int,
    intermediate_size: int,
    n_layers: int,
    vocab_size: int,
    n_heads: int,
    n_kv_heads: int,
    max_seq_len: int,
    dtype_bytes: int,
) -> InferenceMemoryEstimate:
    """Weights, KV cache and activations, by the short formulas."""
    shape = _model_shape(
        hidden_size=hidden_size,
        intermediate_size=intermediate_size,
        num_layers=n_layers,
        vocab_size=vocab_size,
        num_heads=n_heads,
        num_kv_heads=n_kv_heads,
        max_seq_len=max_seq_len,
        dtype_bytes=dtype_bytes,
    )
    out = _abi.ferrum_inference_estimate.init()
    library = _native.functions()
    _native.check(library.ferrum_estimate_inference_memory(ctypes.byref(shape), ctypes.byref(out)))
    return InferenceMemoryEstimate.from_abi(out)


def _model_shape(**numbers: int) -> Any:
    shape = _abi.ferrum_model_shape.init()
    _fill(shape, **numbers)
    return shape


def _fill(shape: Any, **numbers: int) -> None:
    for name, value in numbers.items():
        # The parameter of num_layers is n_layers.
        setattr(shape, name, u64(name.replace("num_", "n_"), value))


@dataclass(frozen=True)
class EstimateRequest:
    """How a model is served.

    Attributes:
        context: tokens of one sequence, prompt and answer; None: the model's own context.
        batch: number of simultaneous sequences.
        tensor_parallel: number of devices that share the model. The estimate is for the
            device that holds most.
        prefill_tokens: prompt tokens that are computed at once; 0: whole prompts.
        kv_dtype: type of the KV cache ("f32", "f16", "bf16", "f8", "int8", "int4"); None:
            the type of the activations.
        weight_dtype: type that the weights are converted to; None: as stored.
        eager_attention: store the attention scores of each token with its whole sequence.
        all_logits: compute logits of every token; otherwise of the last token of each
            sequence.
        overhead_permille: overhead of the allocator, in thousandths of the rest.
        free_bytes: free memory of the device; None: the result does not state what fits.
        block_tokens: tokens of one layer in a block of a paged KV cache. Layers with a
            window hold whole blocks.
    """

    context: int | None = None
    batch: int = 1
    tensor_parallel: int = 1
    prefill_tokens: int = 2048
    kv_dtype: str | None = None
    weight_dtype: str | None = None
    eager_attention: bool = False
    all_logits: bool = False
    overhead_permille: int = 16
    free_bytes: int | None = None
    block_tokens: int = 16

    def _raw(self) -> Any:
        for name in ("context", "free_bytes"):
            if getattr(self, name) == 0:
                raise InvalidArgumentError(
                    _abi.FERRUM_ERROR_INVALID_ARGUMENT, f"{name} is 0: pass None to leave it out"
                )
        request = _abi.ferrum_estimate_request.init()
        _fill(
            request,
            context=self.context or 0,
            batch=self.batch,
            tensor_parallel=self.tensor_parallel,
            prefill_tokens=self.prefill_tokens,
            overhead_permille=self.overhead_permille,
            free_bytes=self.free_bytes or 0,
            block_tokens=self.block_tokens,
        )
        if self.eager_attention:
            request.flags |= _abi.FERRUM_ESTIMATE_EAGER_ATTENTION
        if self.all_logits:
            request.flags |= _abi.FERRUM_ESTIMATE_ALL_LOGITS
        request.kv_dtype = _native.encode("kv_dtype", self.kv_dtype)
        request.weight_dtype = _native.encode("weight_dtype", self.weight_dtype)
        return request


def _raw(request: EstimateRequest | None) -> Any:
    if request is None:
        request = EstimateRequest()
    return object_of("request", request, EstimateRequest)._raw()


def estimate_file(path: str | os.PathLike[str], request: EstimateRequest | None = None) -> Estimate:
    """The memory of a served model, with the fields of docs/estimate.md.

    Args:
        path: a folder with a config.json, safetensors files, or both, or with the GGUF
            files of one model; a GGUF file, also one part of a split model; a safetensors
            file or the index of several; or a configuration. Only headers are read.
        request: how the model is served; None: EstimateRequest().

    Raises:
        NotFoundError, PermissionDeniedError, IoError: for the file.
        InvalidFormatError: for its content; the message names file and field.
        UnsupportedError: for a GGUF file of another version, or with an unknown type.
        InvalidArgumentError, OverflowError: for the request.
    """
    name, raw = file_path("path", path), _raw(request)
    function = _native.functions().ferrum_estimate_file_json
    found: Estimate = _native.read_json(
        lambda to, room, length: function(name, ctypes.byref(raw), to, room, length)
    )
    return found


def estimate_config(
    config: str | bytes | Mapping[str, Any], request: EstimateRequest | None = None
) -> Estimate:
    """The same as estimate_file, for the text of a config.json or its decoded object."""
    if isinstance(config, Mapping):
        config = json.dumps(dict(config))
    if isinstance(config, str):
        config = config.encode()
    if not isinstance(config, bytes):
        raise wrong_class("config", "a str, bytes or a mapping", config)
    text = config
    raw = _raw(request)
    function = _native.functions().ferrum_estimate_config_json
    found: Estimate = _native.read_json(
        lambda to, room, length: function(text, len(text), ctypes.byref(raw), to, room, length)
    )
    return found
