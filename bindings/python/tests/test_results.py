"""The types of results that are dictionaries: the library returns exactly their keys."""

from __future__ import annotations

import inspect
import types
import typing

import ferrum_mem as fm
import pytest
from ferrum_mem import results

from .conftest import MIB
from .test_names import public_members


def wrong(value: object, kind: typing.Any, path: str) -> list[str]:
    """The places where a value differs from a type, in all of its parts."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        found = [wrong(value, each, path) for each in arguments]
        return min(found, key=len)
    if origin is list:
        if not isinstance(value, list):
            return [f"{path}: no list"]
        parts = [(f"{path}[{i}]", each, arguments[0]) for i, each in enumerate(value)]
        return [text for at, each, of in parts for text in wrong(each, of, at)]
    if origin is dict:
        if not isinstance(value, dict):
            return [f"{path}: no dict"]
        parts = [(f"{path}.{key}", each, arguments[1]) for key, each in value.items()]
        return [text for at, each, of in parts for text in wrong(each, of, at)]
    if typing.is_typeddict(kind):
        if not isinstance(value, dict):
            return [f"{path}: no dict"]
        hints = typing.get_type_hints(kind)
        texts = [f"{path}.{key}: missing" for key in kind.__required_keys__ - value.keys()]
        texts += [f"{path}.{key}: not declared" for key in value.keys() - hints.keys()]
        for key in hints.keys() & value.keys():
            texts += wrong(value[key], hints[key], f"{path}.{key}")
        return texts
    if kind is float and type(value) is int:
        # JSON has one type of numbers.
        return []
    return [] if type(value) is kind else [f"{path}: {value!r} is no {kind}"]


def test_check_finds_wrong_types():
    good = {"current": 1, "peak": 2}
    assert wrong(good, results.GaugeBooks, "") == []
    more: object = {**good, "more": 1}
    text: object = {**good, "peak": "2"}
    for bad in ({"current": 1}, more, text, {**good, "peak": None}, "peak"):
        assert len(wrong(bad, results.GaugeBooks, "")) == 1, bad


@pytest.fixture
def everything(device, other_device, pool, manager, stream):
    """An object of each kind, so that no list of the snapshot is empty."""
    with (
        fm.VirtualPool(device, fm.VirtualPoolConfig(capacity_bytes=16 * MIB, name="v")) as space,
        fm.ElasticPool(device) as elastic,
        elastic.register_model("chat", fm.ModelConfig(virtual_bytes=16 * MIB)) as model,
        fm.FallbackManager(other_device, device) as fallback,
        fm.Monitor() as monitor,
        pool.alloc(100, tag="kv"),
        manager.alloc(100),
        space.alloc(0, 100),
        model.alloc(100),
        fallback.alloc(100),
    ):
        monitor.register(manager)
        yield elastic, monitor


def test_books(everything):
    elastic, monitor = everything
    snapshot = fm.snapshot()
    assert wrong(snapshot, fm.Snapshot, "snapshot") == []
    first = snapshot["devices"][0]
    for part in ("tags", "pools", "managers", "virtual_pools", "elastic_pools"):
        assert first[part], part
    assert wrong(elastic.models(), list[fm.ModelBooks], "models") == []
    assert wrong(monitor.info(), fm.MonitorInfo, "monitor") == []


def test_placement(device, other_device):
    with fm.Placement() as placement:
        for size in (100, 1 << 60):
            explained = placement.explain(size, [device, other_device])
            assert wrong(explained, fm.PlacementExplanation, "explanation") == []
        assert explained["chosen"] is None


CONFIG = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 100,
}


def test_estimate():
    request = fm.EstimateRequest(context=16)
    short = fm.estimate_config(CONFIG, request)
    assert wrong(short, fm.Estimate, "estimate") == []
    assert not short.keys() & {"fits", "left_bytes"}
    whole = fm.estimate_config(CONFIG, fm.EstimateRequest(context=16, free_bytes=1 << 30))
    assert wrong(whole, fm.Estimate, "estimate") == []
    assert whole["fits"] is True


def test_no_public_function_returns_an_untyped_dictionary():
    untyped = [
        name
        for name, value in public_members()
        if inspect.isfunction(value)
        and "Any]" in str(inspect.signature(value).return_annotation)
        and "dict" in str(inspect.signature(value).return_annotation)
        and not name.rpartition(".")[2].startswith("__")
    ]
    assert untyped == []
