"""Writes the GGUF files of this folder with the wheel gguf, and what its reader says of them.

Usage: generate.py, in this folder, where the wheel is installed. The files are checked in.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFReader, GGUFWriter

HERE = Path(__file__).parent
Q = GGMLQuantizationType
# Q8_1 is a type of intermediate results, which no file has.
TYPES = [t for t in Q if t in GGML_QUANT_SIZES and t != Q.Q8_1]


def add(writer, name, kind, *shape):
    """Adds a tensor of zeros; the shape is that of the elements, the longest side last."""
    block, size = GGML_QUANT_SIZES[kind]
    assert shape[-1] % block == 0
    data = np.zeros((*shape[:-1], shape[-1] // block * size), dtype=np.uint8)
    writer.add_tensor(name, data, raw_shape=data.shape, raw_dtype=kind)


def decoder(arch, name, extra, layers=2, hidden=64, heads=4, kv=2, vocab=32, split=0):
    """Writes a model of a few elements."""
    writer = GGUFWriter(HERE / f"{name}.gguf", arch, split_max_tensors=split)
    writer.add_context_length(256)
    writer.add_embedding_length(hidden)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(128)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv)
    writer.add_token_list([f"word{i}" for i in range(vocab)])
    writer.add_array("tokenizer.ggml.scores", [0.5] * vocab)
    extra(writer)
    add(writer, "token_embd.weight", Q.Q8_0, vocab, hidden)
    add(writer, "output_norm.weight", Q.F32, hidden)
    for i in range(layers):
        add(writer, f"blk.{i}.attn_q.weight", Q.Q4_0, heads * 16, hidden)
        add(writer, f"blk.{i}.ffn_up.weight", Q.MXFP4, 128, hidden)
        add(writer, f"blk.{i}.attn_norm.weight", Q.F32, hidden)
    return writer


def finish(writer):
    """Writes the file, or the files."""
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def types(writer):
    """One tensor of each type, with its buffers."""
    writer.add_uint32("general.alignment", 64)
    writer.data_alignment = 64
    for kind in TYPES:
        add(writer, f"type.{kind.name}", kind, 3, 2 * GGML_QUANT_SIZES[kind][0])
    add(writer, "rope_freqs.weight", Q.F32, 8)


def swa(writer):
    """A mixture of experts with a window."""
    writer.add_key_length(16)
    writer.add_value_length(16)
    writer.add_sliding_window(64)
    writer.add_expert_count(4)
    writer.add_expert_used_count(2)
    writer.add_expert_feed_forward_length(32)
    writer.add_string("gpt-oss.rope.scaling.type", "yarn")
    writer.add_float32("gpt-oss.rope.scaling.factor", 4.0)
    writer.add_uint32("gpt-oss.rope.scaling.original_context_length", 64)


def hybrid(writer):
    """Layers of a state space and of attention."""
    writer.add_ssm_conv_kernel(4)
    writer.add_ssm_inner_size(128)
    writer.add_ssm_state_size(16)
    writer.add_ssm_time_step_rank(8)
    writer.add_ssm_group_count(1)


def latent(writer):
    """Multi-head latent attention."""
    writer.add_uint32("deepseek2.attention.key_length", 40)
    writer.add_uint32("deepseek2.attention.value_length", 32)
    writer.add_uint32("deepseek2.attention.key_length_mla", 24)
    writer.add_uint32("deepseek2.attention.value_length_mla", 16)
    writer.add_kv_lora_rank(32)
    writer.add_rope_dimension_count(8)


def main():
    """Writes everything."""
    finish(decoder("llama", "llama-types", types))
    finish(decoder("llama", "split", lambda _: None, split=3))
    finish(decoder("gpt-oss", "gpt-oss", swa))
    finish(decoder("granitehybrid", "granitehybrid", hybrid, layers=4, kv=[0, 0, 2, 0]))
    finish(decoder("deepseek2", "deepseek2", latent))
    finish(decoder("somethingelse", "unknown", lambda _: None))
    told = {}
    for path in sorted(HERE.glob("*.gguf")):
        reader = GGUFReader(path)
        told[path.name] = {
            "tensors": len(reader.tensors),
            "elements": int(sum(int(t.n_elements) for t in reader.tensors)),
            "bytes": int(sum(int(t.n_bytes) for t in reader.tensors)),
            "by_name": {
                t.name: [t.tensor_type.name, int(t.n_elements), int(t.n_bytes)]
                for t in reader.tensors
            },
        }
    (HERE / "reader.json").write_text(json.dumps(told, indent=1) + "\n")


main()
