"""KV caches: the block manager of an engine, and caches in memory of the library."""

from __future__ import annotations

import ctypes

import ferrum_mem as fm
import numpy as np
import pytest

KIB = 1024


def settings(**changes):
    given = {"block_tokens": 4, "blocks": 32, "sequences": 8, "sequence_tokens": 64}
    return fm.KvCacheConfig(**(given | changes))


def planes(**changes):
    """Settings whose blocks have 1 KiB in each of 4 planes."""
    return settings(dtype=fm.DType.F16, layers=2, kv_heads=2, head_dim=64, **changes)


def test_an_engine_makes_the_copies():
    with fm.KvCache(settings(host_blocks=4)) as cache:
        (made,) = cache.allocate([6], [], [])
        (child,) = cache.fork([made.sequence])
        (copy,) = cache.append([child, made.sequence], [])
        table = cache.block_tables([made.sequence, child], 3)
        assert (copy.source, copy.target) == (table[1], table[4])
        assert table[0] == table[3]
        assert table[2] == table[5] == -1
        cache.truncate([child], [4])
        assert cache.lengths([made.sequence, child]) == [7, 4]
        assert (
            len(
                cache.swap_out(
                    [made.sequence, child],
                )
            )
            == 2
        )
        with pytest.raises(fm.InvalidStateError, match="is swapped out"):
            cache.append([child], [])
        assert len(cache.swap_in([child, made.sequence])) == 2
        cache.free([child])
        with pytest.raises(fm.InvalidHandleError, match=r"sequences\[1\]"):
            cache.free([made.sequence, child])
        with pytest.raises(fm.BusyError):
            cache.close()
        cache.free([made.sequence])


def test_prefixes_are_shared():
    with fm.KvCache(settings(hash_seed=5)) as cache:
        hashes = cache.hash_tokens(0, range(10))
        assert len(hashes) == 2
        (first,) = cache.allocate([10], [2], hashes)
        cache.publish([first.sequence], [2], hashes)
        assert cache.find(hashes) == 2
        (second,) = cache.allocate([9], [2], hashes)
        assert (first.cached_tokens, second.cached_tokens) == (0, 8)
        stats = cache.stats()
        assert (stats.hits, stats.misses, stats.used_blocks, stats.references) == (2, 2, 4, 6)
        cache.free([first.sequence, second.sequence])
        assert cache.trim(0) == 0
        assert cache.stats().evictions == 2


def test_levels_are_reported():
    with fm.KvCache(settings(blocks=10)) as cache:
        seen: list[fm.PressureLevel] = []
        with cache.on_pressure(seen.append):
            made = cache.allocate([32, 4], [], [])
        cache.free([each.sequence for each in made])
        assert seen == [fm.PressureLevel.HIGH]
        assert cache.stats().level is fm.PressureLevel.LOW


def test_a_cache_in_a_model(device):
    config = fm.ElasticPoolConfig(limit_bytes=4096 * KIB, page_bytes=64 * KIB)
    with (
        fm.ElasticPool(device, config) as pool,
        pool.register_model("llama", fm.ModelConfig(virtual_bytes=4096 * KIB)) as model,
        fm.KvCache(planes(), model, tag="kv") as cache,
    ):
        (made,) = cache.allocate([6], [], [])
        address, size = cache.plane(0, False)
        assert size == 32 * KIB
        (block,) = cache.block_tables([made.sequence], 2)[:1]
        ctypes.memset(address + block * KIB, 7, KIB)
        model.sleep(tag="kv")
        with pytest.raises(fm.BusyError, match="sleeps"):
            cache.append([made.sequence], [])
        model.wake(tag="kv")
        assert ctypes.string_at(address + block * KIB, KIB) == b"\7" * KIB
        with pytest.raises(fm.UnsupportedError, match="always_blocks"):
            cache.plane_tensor(0, False)
        cache.free([made.sequence])


def test_tensors_over_a_cache_in_a_pool(device):
    with fm.Pool(device) as pool, fm.KvCache(planes(), pool) as cache:
        with cache.plane_tensor(1, True) as tensor:
            assert tensor.shape == (32, 2, 4, 64)
            tensor.fill(1.0)
            with pytest.raises(fm.BusyError):
                cache.close()
        with pytest.raises(fm.InvalidArgumentError, match="layer is 2"):
            cache.plane(2, False)
        with pytest.raises(fm.BusyError):
            pool.close()


def test_wrong_settings():
    with pytest.raises(fm.InvalidConfigError, match="blocks is 0"):
        fm.KvCache(settings(blocks=0))
    with pytest.raises(TypeError):
        fm.KvCache(settings(), "memory")  # type: ignore[arg-type]


def test_attention_reads_the_blocks_of_a_cache(device):
    heads, size, window, lengths = 4, 8, 6, [11, 4]
    config = settings(dtype=fm.DType.F32, layers=2, kv_heads=2, head_dim=size, window_tokens=window)
    random = np.random.default_rng(3)
    with (
        fm.Pool(device) as pool,
        fm.KvCache(config, pool) as cache,
        fm.Compute(device) as compute,
        cache.plane_tensor(1, False) as keys,
        cache.plane_tensor(1, True) as values,
    ):
        made = cache.allocate([length - 1 for length in lengths], [], [])
        sequences = [each.sequence for each in made]
        cache.append(sequences, [])
        assert cache.lengths(sequences) == lengths
        tables = np.array(cache.block_tables(sequences, 3), np.int32).reshape(2, 3)
        assert tables[0, 0] == -1, "no token of the window is there"
        planes = [random.normal(size=keys.shape).astype(np.float32) for _ in range(2)]
        keys.write(planes[0])
        values.write(planes[1])
        query = random.normal(size=(2, 1, heads * size)).astype(np.float32)
        (result,) = compute.run(
            "ferrum.paged_attention",
            [query, keys, values, tables, np.array(lengths, np.int32)],
            left_window_size=window - 1,
        )
        found = np.array(result).reshape(2, heads, size)
        result.close()
        for at, length in enumerate(lengths):
            for head in range(heads):
                tokens = np.arange(max(0, length - window), length)
                blocks, rows = tables[at][tokens // 4], tokens % 4
                k, v = (plane[blocks, head // 2, rows].astype(float) for plane in planes)
                scores = k @ query[at, 0].reshape(heads, size)[head] / np.sqrt(size)
                weights = np.exp(scores - scores.max())
                expected = weights @ v / weights.sum()
                np.testing.assert_allclose(found[at, head], expected, rtol=0, atol=1e-6)
        cache.free(sequences)
