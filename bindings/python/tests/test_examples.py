"""The programs of README and docs, run unchanged."""

from __future__ import annotations

import re

import ferrum_mem as fm

from .conftest import ROOT, program_of


def test_the_readmes_programs(run_python):
    text = (ROOT / "bindings/python/README.md").read_text()
    blocks, models, compute = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    for program in (models, compute):
        result = run_python(program)
        assert (result.returncode, result.stdout, result.stderr) == (0, "True\n", "")
    result = run_python(blocks)
    assert (result.returncode, result.stderr) == (0, "")
    used, first = result.stdout.split(" ", 1)
    assert int(used) >= 1 << 20
    assert first == "b'\\x00\\x00\\x80?'\n"


def test_the_packages_program(run_python):
    assert fm.__doc__ is not None
    program = "\n".join(line[4:] for line in fm.__doc__.splitlines() if line.startswith("    "))
    result = run_python(program)
    assert (result.returncode, result.stderr) == (0, "")
    assert int(result.stdout) >= 1 << 20


def test_the_quickstart(run_python):
    result = run_python((ROOT / "examples/python/quickstart.py").read_text())
    assert (result.returncode, result.stderr) == (0, "")
    for expected in (
        "cpu:1",
        "read back   b'memory of a device'",
        "no copy",
        "the copy is done",
        "FERRUM_ERROR_OUT_OF_MEMORY from pool.alloc",
        "held by small: 6 MiB",
        "used               0 B",
    ):
        assert expected in result.stdout


def test_the_example_of_an_event_loop(run_python):
    result = run_python((ROOT / "examples/python/asyncio_serving.py").read_text())
    # asyncio's debug mode reports slow steps, such as loading the library.
    assert result.returncode == 0, result.stderr
    assert "ResourceWarning" not in result.stderr
    for expected in (
        "last answer: b'request  30'",
        "of 32",
        "filled: b'\\x07\\x07\\x07'",
        "still used: 0 bytes",
    ):
        assert expected in result.stdout


def test_the_program_of_the_page_on_asynchronous_programs(run_python):
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/async.md").read_text(), re.DOTALL)
    result = run_python(program)
    assert (result.returncode, result.stdout) == (0, "b'bytes'\n"), result.stderr
    assert "ResourceWarning" not in result.stderr


def test_the_example_of_a_decoder_layer(run_python):
    result = run_python((ROOT / "examples/python/decoder_layer.py").read_text())
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "backend: cpu",
        "run 0: shape [1, 16, 64], as NumPy: True",
        "run 1: shape [1, 16, 64], as NumPy: True",
        "operations: 24",
    ]


def test_the_example_of_an_own_backend(run_python):
    result = run_python((ROOT / "examples/python/own_backend.py").read_text())
    assert (result.returncode, result.stderr) == (0, "")
    first, *others = result.stdout.splitlines()
    # ONNX Runtime is there where its package is installed.
    assert first in ("backends: cpu, timed", "backends: cpu, onnx_runtime, timed")
    assert others == [
        "shape [8, 10], as the engine: True",
        "timed: Add, MatMul, Tanh",
        "unsupported: NumPy has no Softmax here",
        "the engine has it: [8, 64]",
    ]


def test_the_example_of_an_own_layer(run_python):
    result = run_python((ROOT / "examples/python/own_layer.py").read_text())
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "layers: ['mine.rms']",
        "[[2.0, 0.0, 2.0, 0.0], [2.0, 2.0, 0.0, 2.0]]",
        "steps: ['mine.rms', 'Relu']",
        "the model uses the layer",
    ]


def test_the_program_of_the_page_on_layers(run_python):
    result = run_python(program_of("layers.md", "An example"))
    row = [15.0] * 4
    assert (result.returncode, result.stdout) == (0, f"{[row, row]}\n"), result.stderr
    assert result.stderr == ""


def test_the_example_of_an_own_pass(run_python):
    result = run_python((ROOT / "examples/python/own_pass.py").read_text())
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "merge_same: applied False, 0 removed",
        "join_relus: applied True, 7 removed",
        "count: applied False, 0 removed, 1 operations are left",
        "as before: True",
        "measured: True",
        "faster: True",
        'refused: passes.run: pass "broken"',
    ]


def test_the_program_of_the_page_on_compute(run_python):
    result = run_python(program_of("compute.md", "Python"))
    assert (result.returncode, result.stdout) == (0, "(2, 2) True\n"), result.stderr
    assert result.stderr == ""


def test_the_program_of_the_page_on_tensors(run_python):
    result = run_python(program_of("tensors.md", "Python"))
    assert (result.returncode, result.stdout) == (0, "(3, 3) BF16 40.5\n"), result.stderr
    assert result.stderr == ""


def test_the_page_on_choosing_puts_a_model_to_sleep(run_python):
    result = run_python(program_of("choosing.md", "Sleep and wake of a model"))
    assert (result.returncode, result.stdout, result.stderr) == (0, "awake: 24 MiB\n", "")


def test_every_program_of_the_page_on_choosing_is_run():
    """Two run here and in test_frameworks.py, the others in scripts/test_examples.sh."""
    text = (ROOT / "docs/choosing.md").read_text()
    # Each section below this heading has a program.
    _, programs = text.split("\n## Programs\n")
    shown = re.findall(r"^## (.*?)$|^```(\w+)$", programs, re.MULTILINE)
    assert [heading or language for heading, language in shown] == [
        *("A paged KV cache", "c"),
        *("Two models in an elastic pool", "rust"),
        *("Sleep and wake of a model", "python"),
        *("A framework plug-in", "python"),
        *("Staging buffers", "c"),
    ]
