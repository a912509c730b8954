"""Serves many requests at once with one event loop and one manager.

make build && PYTHONPATH=bindings/python/src python3 examples/python/asyncio_serving.py
"""

from __future__ import annotations

import asyncio

import ferrum_mem as fm

KV_BYTES = 1 << 20
REQUESTS = 32


class Server:
    """Keeps the state of each request in a block, and copies the state to share it."""

    def __init__(self, manager: fm.Manager) -> None:
        self.manager = manager
        self.served = 0

    async def serve(self, number: int) -> bytes:
        """Writes the state of a request, copies it for a second answer, and reads the copy."""
        with await self.manager.alloc_async(KV_BYTES, tag="prompt") as prompt:
            await prompt.write_async(f"request {number:3}".encode())
            with await self.manager.alloc_async(KV_BYTES, tag="fork") as fork:
                await self.manager.copy_async(fork, prompt)
                self.served += 1
                return await fork.read_async(11)

    async def give_up(self, number: int) -> None:
        """Cancels a request, as a client that disconnects would. All its memory is freed."""
        task = asyncio.ensure_future(self.serve(number))
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return


async def main() -> None:
    """Serves all requests. Every fourth client disconnects."""
    with fm.Device("cpu:0") as device, fm.Manager(device) as manager:
        server = Server(manager)
        answers = await asyncio.gather(
            *(
                server.give_up(number) if number % 4 == 3 else server.serve(number)
                for number in range(REQUESTS)
            )
        )
        print(f"last answer: {next(a for a in reversed(answers) if a)!r}")
        print(f"served {server.served} of {REQUESTS}")
        with fm.Stream(device) as stream, manager.alloc(KV_BYTES) as block:
            # The work is queued here. Await it when the result is needed.
            filling = block.fill_async(7, stream=stream)
            await filling
            print(f"filled: {block.read(3)!r}")
        # A cancelled allocation that a thread has already begun is freed by that thread.
        while device.memory_info().active_allocations:
            await asyncio.sleep(0)
        stats = await manager.defragment_async()
        print(f"returned to the device: {stats.memory_freed_bytes >> 20} MiB")
        print(f"still used: {device.memory_info().used_bytes} bytes")


if __name__ == "__main__":
    asyncio.run(main())
    fm.shutdown()
