"""A first program with ferrum_mem in Python.

make build && PYTHONPATH=bindings/python/src python3 examples/python/quickstart.py
"""

from __future__ import annotations

import importlib.util

import ferrum_mem as fm

MIB = 1 << 20


def main() -> None:
    """Uses a device, a manager, a stream and a pool, and shows an error."""
    print(f"ferrum_mem {fm.library_version()}, ABI {fm.abi_version()}")
    for backend in fm.backends():
        for found in backend.devices:
            print(f"  {found.id}  {found.name}, {size(found.total_bytes)}")
        if not backend.available:
            print(f"  {backend.backend}  not here: {backend.error}")
    with fm.Device("cpu:0") as device:
        blocks_by_handle(device)
        blocks_by_address(device)
        kv_blocks(device)
        out_of_memory(device)
        show_memory(device)
    fm.shutdown()


def blocks_by_handle(device: fm.Device) -> None:
    """Allocates blocks of a manager: writes them, views them, and copies them on a stream."""
    print("\nA manager hands out blocks by handle:")
    with (
        fm.Manager(device) as manager,
        manager.alloc(4 * MIB, tag="weights") as source,
        manager.alloc(4 * MIB, tag="kv") as target,
        fm.Stream(device) as stream,
    ):
        source.write(b"memory of a device")
        print(f"  wrote, and read back   {source.read(18)!r}")
        look_into(source)
        target.copy_from_async(source, stream=stream)
        stream.host_function(lambda: print("  the copy is done       (said in the stream)"))
        stream.synchronize()
        print(f"  first byte of the copy {target.read(1)!r}")


def look_into(block: fm.Memory) -> None:
    """Views the block as a NumPy array, or as a memoryview if NumPy is not installed."""
    if importlib.util.find_spec("numpy") is None:
        block.view()[:4] = b"view"
        print(f"  through a memoryview   {block.read(4)!r}")
        return
    array = block.as_numpy("float32", (1024, 1024))
    array[:] = 1.5
    print(f"  as a NumPy array       {array.shape} {array.dtype}, sum {array.sum():.0f}, no copy")


def blocks_by_address(device: fm.Device) -> None:
    """Allocates blocks of a pool. Each block has an address and a size."""
    print("\nA pool hands out blocks by address:")
    config = fm.PoolConfig(name="scratch", initial_size_bytes=16 * MIB, max_size_bytes=64 * MIB)
    with fm.Pool(device, config) as pool:
        with pool.alloc(1000) as small, pool.alloc(2 * MIB, alignment_bytes=MIB) as large:
            print(f"  {small.size_bytes:>8} bytes at {small.address:#x}")
            print(f"  {large.size_bytes:>8} bytes at {large.address:#x}, a multiple of 1 MiB")
            books = pool.statistics()
            print(f"  live {size(books.allocated.current)}, held {size(books.reserved.current)}")
        print(f"  trim gave back {size(pool.trim())}")


def kv_blocks(device: fm.Device) -> None:
    """Allocates the KV blocks of one step in one call, because all have one size."""
    config = fm.PoolConfig(
        name="kv", strategy="fixed", fixed_block_bytes=64 << 10, initial_size_bytes=32 * MIB
    )
    with fm.Pool(device, config) as pool, pool.alloc_batch(64 << 10, 256) as batch:
        owner = device.owner_of(batch.addresses[17] + 1000)
        print(f"  {len(batch)} KV blocks in one call, of pool {owner.pool_name!r}")


def out_of_memory(device: fm.Device) -> None:
    """Shows the error of an allocation that does not fit."""
    print("\nRunning out of memory says why:")
    config = fm.PoolConfig(name="small", initial_size_bytes=8 * MIB, max_size_bytes=8 * MIB)
    with fm.Pool(device, config) as pool, pool.alloc(6 * MIB):
        try:
            pool.alloc(4 * MIB)
        except fm.OutOfMemoryError as error:
            print(f"  {error.name} from {error.operation}:")
            for line in error.message.replace("; ", "\n").splitlines():
                print(f"    {line}")


def show_memory(device: fm.Device) -> None:
    """Prints the memory counters of the device."""
    info = device.memory_info()
    print(f"\n{device.id} after all that:")
    print(f"  total     {size(info.total_bytes):>12}")
    print(f"  used      {size(info.used_bytes):>12}")
    print(f"  free      {size(info.free_bytes):>12}")
    print(f"  reserved  {size(info.reserved_bytes):>12}")
    print(f"  pressure  {info.pressure.name.lower():>12}")


def size(size_bytes: int) -> str:
    """Formats a size with a unit."""
    amount = float(size_bytes)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


if __name__ == "__main__":
    main()
