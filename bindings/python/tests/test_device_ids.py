"""Objects that are created with the id of a device: they open and close the device."""

from __future__ import annotations

import gc

import ferrum_mem as fm
import pytest

from .conftest import MIB, eventually

SMALL = fm.VirtualPoolConfig(capacity_bytes=16 * MIB)
KINDS = {
    "pool": lambda device: fm.Pool(device),
    "manager": lambda device: fm.Manager(device),
    "virtual pool": lambda device: fm.VirtualPool(device, SMALL),
    "elastic pool": lambda device: fm.ElasticPool(device),
    "stream": lambda device: fm.Stream(device),
    "adopted stream": lambda device: fm.AdoptedStream(device, lambda work: work()),
    "fallback manager": lambda device: fm.FallbackManager(device, "cpu:1"),
}
kinds = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


def open_devices() -> set[str]:
    """The devices that this process has open, according to the library."""
    return {each["id"] for each in fm.snapshot()["devices"]}


@kinds
def test_the_device_closes_with_the_object(make):
    assert open_devices() == set()
    with make("cpu:0") as made:
        assert made.device.id == "cpu:0"
        assert "cpu:0" in open_devices()
    assert made.device.closed
    assert open_devices() == set()


@kinds
def test_device_with_other_users_stays_open(make, device):
    with make("cpu:0"):
        pass
    assert open_devices() == {"cpu:0"}
    assert not device.closed


@kinds
def test_invalid_device_arguments_are_rejected(make):
    with pytest.raises(fm.DeviceNotFoundError, match="cpu:7"):
        make("cpu:7")
    for wrong in (None, 0, b"cpu:0"):
        with pytest.raises(TypeError, match='device must be a Device or an id such as "cpu:0"'):
            make(wrong)
    assert open_devices() == set()


def test_failed_creation_closes_the_device():
    with pytest.raises(fm.NotFoundError):
        fm.Pool("cpu:0", fm.PoolConfig(strategy="nothing"))
    with pytest.raises(fm.InvalidPageSizeError):
        fm.VirtualPool("cpu:0", fm.VirtualPoolConfig(capacity_bytes=MIB, page_bytes=3))
    with pytest.raises(fm.DeviceNotFoundError):
        fm.FallbackManager("cpu:0", "cpu:7")
    assert open_devices() == set()


def test_device_closes_with_the_last_object_on_it():
    pool = fm.Pool("cpu:0")
    stream = fm.Stream(pool.device)
    pool.close()
    assert open_devices() == {"cpu:0"}
    stream.close()
    assert open_devices() == set()


def test_failed_close_leaves_the_device_open():
    pool = fm.Pool("cpu:0")
    block = pool.alloc(100)
    with pytest.raises(fm.BusyError):
        pool.close()
    assert not pool.device.closed
    block.free()
    pool.close()
    assert open_devices() == set()


def test_warning_names_the_object_and_not_the_device():
    def drop() -> None:
        fm.Pool("cpu:0")
        gc.collect()

    with pytest.warns(ResourceWarning) as warned:
        drop()
    assert [str(each.message) for each in warned] == ["unclosed ferrum_mem.Pool on cpu:0"]
    eventually(lambda: open_devices() == set())
