#!/usr/bin/env python3
"""Tests PyTorch on pools of the library: training, graphs, streams, statistics, and shared
arrays.

torch_part.py            the part
torch_part.py case NAME  one case, in this process
"""

from __future__ import annotations

import gc
import pathlib
import sys
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import bundle
import framework


def start(ours: bool = True, needs_hooks: bool = False) -> Any:
    """Imports PyTorch and sets our allocator. A case may need hooks that this PyTorch does not
    have. If needs_hooks is set, that is a failure. Otherwise it is only printed.
    """
    import torch

    if ours:
        import ferrum_mem.frameworks

        missing = ferrum_mem.frameworks.use_in_torch()
        if missing and needs_hooks:
            raise AssertionError(f"PyTorch {torch.__version__} has no {', '.join(missing)}")
        for hook in missing:
            print(f"this PyTorch has no {hook}")
    return torch


def train(torch: Any, steps: int = 40) -> list[float]:
    """Trains a small network on data that is the same in each process, and returns the losses."""
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    make = torch.Generator().manual_seed(2)
    inputs = torch.randn(512, 64, generator=make).cuda()
    wanted = torch.randn(512, 8, generator=make).cuda()
    network = torch.nn.Sequential(
        torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 8)
    ).cuda()
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)
    losses = []
    for step in range(steps):
        part = slice(step % 4 * 128, step % 4 * 128 + 128)
        loss = torch.nn.functional.mse_loss(network(inputs[part]), wanted[part])
        optimizer.zero_grad(set_to_none=step % 3 == 0)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def training() -> None:
    """The losses are equal to those with PyTorch's own allocator."""
    torch = start()
    losses = train(torch)
    assert losses[-1] < losses[0], losses
    program = (
        f"import sys; sys.argv = ['x']; sys.path.insert(0, {str(bundle.ROOT / 'tests/gpu')!r})"
    )
    program += "\nimport torch_part, json; print(json.dumps({'losses': torch_part.train("
    program += "torch_part.start(ours=False))}))"
    done = bundle.run([sys.executable, "-c", program], 100)
    assert done.returncode == 0, done.stderr[-2000:]
    others = bundle.last_json(done.stdout)["losses"]
    assert len(others) == len(losses)
    assert all(abs(a - b) <= 1e-5 * abs(b) for a, b in zip(losses, others, strict=True))


def statistics_and_emptying() -> None:
    """The counters of the library include PyTorch's memory, and its cache can be emptied."""
    torch = start()
    import ferrum_mem

    kept = torch.ones(1 << 20, device="cuda")
    gone = torch.ones(64 << 20, dtype=torch.uint8, device="cuda")
    device = ferrum_mem.Device("cuda:0")
    books = device.statistics()
    assert books.requested.current >= kept.nbytes + gone.nbytes, books
    held = books.reserved.current
    assert held >= kept.nbytes + gone.nbytes
    del gone
    torch.cuda.synchronize()
    framework.empty_cache(device, held - (64 << 20))
    assert float(kept.sum()) == 1 << 20
    device.close()


def freed_under_a_running_kernel() -> None:
    """Another stream gets memory that a queued kernel uses only after that kernel."""
    torch = start()
    size = 8 << 20
    one, two = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(one):
        a = torch.zeros(size, dtype=torch.uint8, device="cuda")
        torch.cuda._sleep(200_000_000)
        a.fill_(1)
        place = a.data_ptr()
        del a
        again = torch.empty(size, dtype=torch.uint8, device="cuda")
        assert again.data_ptr() == place, "the same stream has it at once"
    with torch.cuda.stream(two):
        b = torch.empty(size, dtype=torch.uint8, device="cuda")
        assert b.data_ptr() != place
        b.fill_(2)
    torch.cuda.synchronize()
    assert bool((b == 2).all())


def recorded_streams() -> None:
    """record_stream keeps memory for the work of another stream."""
    torch = start()
    size = 8 << 20
    one, two = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(one):
        a = torch.full((size,), 3, dtype=torch.uint8, device="cuda")
    two.wait_stream(one)
    with torch.cuda.stream(two):
        torch.cuda._sleep(200_000_000)
        copy = a.clone()
    a.record_stream(two)
    del a
    with torch.cuda.stream(one):
        other = torch.full((size,), 4, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    assert bool((copy == 3).all())
    assert bool((other == 4).all())


def graphs() -> None:
    """A captured graph gives the same result whatever was allocated since. Its memory is released
    when the graph is destroyed.
    """
    torch = start(needs_hooks=True)
    weight = torch.randn(256, 256, device="cuda")
    given = torch.zeros(64, 256, device="cuda")

    def work(x: Any) -> Any:
        return (torch.relu(x @ weight) @ weight).softmax(dim=-1)

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work(given)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = work(given)
    for round_ in range(20):
        fresh = torch.randn(64, 256, device="cuda")
        litter = [torch.full((n << 16,), 7, device="cuda") for n in range(1, 9)]
        given.copy_(fresh)
        graph.replay()
        torch.cuda.synchronize()
        assert torch.allclose(result, work(fresh), atol=1e-5), round_
        assert all(bool((one == 7).all()) for one in litter)
    del graph, result
    gc.collect()
    torch.cuda.synchronize()


def more_than_there_is() -> None:
    """A request that does not fit raises an exception with the library's message, and later calls
    still work.
    """
    torch = start()
    try:
        torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
    except Exception as problem:
        message = str(problem)
    else:
        raise AssertionError("a petabyte was had")
    assert "ferrum_mem" in message, message
    assert float(torch.ones(10, device="cuda").sum()) == 10


def arrays_of_both() -> None:
    """Blocks of the library become tensors without a copy, and tensors become blocks."""
    torch = start(ours=False)
    import ferrum_mem

    torch.zeros(1, device="cuda")
    with ferrum_mem.Device("cuda:0") as device, ferrum_mem.Manager(device) as manager:
        with manager.alloc(1 << 20) as block:
            block.write(bytes(range(256)) * 4096)
            tensor = torch.from_dlpack(block)
            assert tensor.data_ptr() == block.address
            assert tensor.device.type == "cuda"
            assert int(tensor[255]) == 255
            tensor[3] = 77
            torch.cuda.synchronize()
            assert block.read(4) == bytes([0, 1, 2, 77])
            try:
                block.close()
            except ferrum_mem.ViewExistsError:
                pass
            else:
                raise AssertionError("a tensor looks into the block")
            del tensor
            shown = torch.as_tensor(block, device="cuda")
            assert shown.data_ptr() == block.address
            del shown
        tensor = torch.full((1 << 16,), 9, dtype=torch.uint8, device="cuda")
        torch.cuda.synchronize()
        with manager.adopt_address(tensor.data_ptr(), tensor.nbytes) as adopted:
            assert adopted.read(3) == bytes([9, 9, 9])


def tensors_of_both() -> None:
    """Tensors of the library become tensors of torch without a copy, with their strides, and the
    other way round. Each keeps the memory of the other.
    """
    torch = start(ours=False)
    import ferrum_mem

    torch.zeros(1, device="cuda")
    kinds = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "i32": torch.int32}
    with ferrum_mem.Device("cuda:0") as device, ferrum_mem.Pool(device) as pool:
        for kind, expected in kinds.items():
            ours = ferrum_mem.Tensor(pool, kind, [3, 5])
            ours.fill(2)
            turned = ours.permute(1, 0)[1:4]
            theirs = torch.from_dlpack(turned)
            found = (theirs.dtype, theirs.device.type, tuple(theirs.shape), theirs.stride())
            assert found == (expected, "cuda", (3, 3), (1, 5)), found
            assert theirs.data_ptr() == turned.address
            theirs[2, 0] = 7
            torch.cuda.synchronize()
            ours_again = ferrum_mem.Tensor.from_dlpack(theirs)
            assert (ours_again.address, ours_again.strides) == (theirs.data_ptr(), (1, 5))
            sum_of_theirs = float(theirs.double().sum())
            del theirs
            gc.collect()
            assert sum_of_theirs == 8 * 2 + 7, sum_of_theirs
            ours_again.close()
            gc.collect()
            turned.close()
            ours.close()
        loan = torch.arange(12, device="cuda", dtype=torch.float32).reshape(3, 4)
        torch.cuda.synchronize()
        with ferrum_mem.Tensor.from_dlpack(loan) as borrowed:
            address = loan.data_ptr()
            del loan
            gc.collect()
            torch.cuda.empty_cache()
            litter = [torch.full((12,), 9.0, device="cuda") for _ in range(100)]
            torch.cuda.synchronize()
            assert borrowed.address == address
            values = memoryview(borrowed.read()).cast("f").tolist()
            assert values == [float(n) for n in range(12)], values
            del litter
        on_host = torch.arange(6, dtype=torch.int32).reshape(2, 3)
        with ferrum_mem.Tensor.from_dlpack(on_host.t()) as seen:
            assert (seen.shape, seen.strides) == ((3, 2), (1, 3))
            assert torch.equal(torch.from_dlpack(seen), on_host.t())


CASES = {
    "training": training,
    "statistics and emptying": statistics_and_emptying,
    "freed under a running kernel": freed_under_a_running_kernel,
    "recorded streams": recorded_streams,
    "graphs": graphs,
    "more than there is": more_than_there_is,
    "arrays of both": arrays_of_both,
    "tensors of both": tensors_of_both,
}
VERSIONS = "import torch; torch.zeros(1, device='cuda'); print(torch.__version__)"

if __name__ == "__main__":
    if sys.argv[1:2] == ["case"]:
        sys.exit(framework.run_cases(CASES))
    sys.exit(framework.run_part("torch", __file__, list(CASES), VERSIONS))
