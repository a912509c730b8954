"""The types of results that are dictionaries: the library returns exactly their keys."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ferrum_mem as fm
import numpy
import pytest
from ferrum_mem import _native, results

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
    if kind is object:
        return []
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
    assert any(each["fallback_managers"] for each in snapshot["devices"])
    assert wrong(elastic.models(), list[fm.ModelBooks], "models") == []
    assert wrong(monitor.info(), fm.MonitorInfo, "monitor") == []


def test_placement(device, other_device):
    with fm.Placement() as placement:
        for size in (100, 1 << 60):
            explained = placement.explain(size, [device, other_device])
            assert wrong(explained, fm.PlacementExplanation, "explanation") == []
        assert explained["chosen"] is None


HEADERS = Path(__file__).resolve().parents[3] / "include" / "ferrum_mem"
LEAK_FIELDS = {field.name for field in dataclasses.fields(fm.LeakReportEntry)}
# JSON keys that are not the names of their fields.
RENAMED = {"bytes": "size_bytes"}
# Keys beside the list of backends, and the functions that return their values.
BESIDE_BACKENDS = {"recommended": fm.best_available_backend, "backends": fm.backends}
# Time and duration of the discovery: for tools that read the JSON.
FOR_TOOLS = {"discovered_at_unix_ns", "discovery_took_ns"}


def documented_keys(header: Path, function: str) -> set[str]:
    """The keys in a function's comment: those of the example, and those that the text below
    describes for some entries."""
    text = header.read_text()
    comment = text[: text.index(f" {function}(")].rpartition("/**")[2]
    return set(re.findall(r'"(\w+)":', comment)) | set(re.findall(r'has a\s[* ]*"(\w+)"', comment))


@pytest.fixture
def leaking(device, everything) -> Iterator[dict[str, Any]]:
    """The JSON of a leak report with an entry of every kind that has extra keys."""
    with (
        fm.Pool(device, fm.PoolConfig(debug=fm.DebugFlags.CALL_SITES)) as pool,
        pool.alloc(100),
        device.on_pressure(lambda *_: None),
    ):
        yield json.loads(_native.read_text(_native.functions().ferrum_leak_report_json))


def test_no_key_of_a_leak_report_is_dropped(leaking):
    keys = {key for entry in leaking["leaks"] for key in entry}
    assert {"callback", "model", "call_site"} < keys
    assert {RENAMED.get(key, key) for key in keys} == LEAK_FIELDS
    known = {field.name for field in dataclasses.fields(fm.LeakReport)}
    assert leaking.keys() == known
    documented = documented_keys(HEADERS / "books.h", "ferrum_leak_report_json")
    assert {RENAMED.get(key, key) for key in documented} == LEAK_FIELDS | known


def test_entries_of_a_leak_report_have_the_values_of_the_json(leaking):
    entries = fm.LeakReport.from_json(leaking).leaks
    assert len(entries) == len(leaking["leaks"])
    for entry, raw in zip(entries, leaking["leaks"], strict=True):
        for key, value in raw.items():
            got = getattr(entry, RENAMED.get(key, key))
            assert (list(got) if isinstance(got, tuple) else got) == value, key
    assert any("pressure callback" in entry.callback for entry in entries)


def test_no_key_of_the_backends_is_dropped():
    text = _native.read_text(_native.functions().ferrum_backends_json)
    raw = json.loads(text)
    assert raw.keys() == BESIDE_BACKENDS.keys() | FOR_TOOLS
    backends, devices, processes = (
        {field.name for field in dataclasses.fields(kind)}
        for kind in (fm.BackendInfo, fm.BackendDevice, fm.ProcessUse)
    )
    for entry in raw["backends"]:
        assert entry.keys() == backends
        for device in entry["devices"]:
            assert device.keys() == devices
            for process in device["processes"] or ():
                assert process.keys() == processes
    documented = documented_keys(HEADERS / "devices.h", "ferrum_backends_json")
    assert documented == backends | devices | processes | raw.keys()


def test_records_read_the_json_of_a_later_library():
    raw = json.loads(_native.read_text(_native.functions().ferrum_backends_json))
    entry = next(each for each in raw["backends"] if each["devices"])
    entry["more"] = 1
    entry["devices"][0]["more"] = 1
    entry["devices"][0]["processes"] = [{"pid": 1, "used_bytes": 2, "more": 3}]
    read = fm.BackendInfo.from_json(entry)
    assert read.devices[0].processes == (fm.ProcessUse(1, 2),)


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


def test_weights(tmp_path, pool):
    numpy.save(tmp_path / "ids.npy", numpy.arange(6, dtype="int32"))
    path = tmp_path / "ids.npy"
    with fm.Weights(path) as source:
        assert wrong(source.metadata(), fm.WeightsMetadata, "metadata") == []
        assert wrong(source.capabilities(), fm.WeightsCapabilities, "capabilities") == []
        with source.load(pool) as loaded:
            assert wrong(loaded.tensors(), fm.LoadedTensors, "tensors") == []


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
