"""Commands on models: import, show, run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frontend import checkpoints as hf

from stepgen.frontend import Builder, from_checkpoint, load, save
from stepgen.frontend.model import walk
from stepgen.ir.errors import StepError


@pytest.fixture
def llama(here: Path) -> dict[str, Any]:
    """A checkpoint in the folder ``llama``."""
    c = hf.config("llama")
    made = hf.weights(c)
    hf.write(here / "llama", c, made)
    return {"config": c, "weights": made}


def test_a_checkpoint_from_import_to_logits(stepgen, here, llama) -> None:
    said = stepgen("import llama -o m.stepgen")
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[0].startswith("llama: llama: T 1 to 32, ")
    assert lines[2] == "folded: 4 layers as the loop model.layers"
    assert lines[3] == "written to m.stepgen"
    assert load("m.stepgen") == from_checkpoint("llama")
    ids = np.arange(9) % hf.VOCABULARY
    np.save("ids.npy", ids[None])
    said = stepgen("run m.stepgen --ids ids.npy --golden -o out.npz")
    assert said.code == 0
    want = hf.logits(llama["config"], llama["weights"], ids)
    with np.load("out.npz") as found:
        assert np.allclose(found["logits"], want, rtol=0, atol=1e-6 * np.abs(want).max())
    best = want[-1].argmax()
    assert said.out.splitlines()[-2].endswith(f"{want[-1, best]:.6g} at {best}")
    assert stepgen("run m.stepgen --golden --seed 3 --json").json["drawn"] == ["ids"]


def test_quantize_says_what_it_lacks_and_which_bytes_it_counts(stepgen, here, llama) -> None:
    said = stepgen("quantize llama --scheme w8")
    assert said.code == 2
    assert said.err.endswith(": import it first, stepgen import llama -o llama.stepgen\n")
    stepgen("import llama -o m.stepgen")
    np.save("empty.npy", np.zeros(0, int))
    said = stepgen("quantize m.stepgen --calibrate empty.npy --scheme w8a8")
    assert said.code == 2
    assert "empty.npy has no ids: give at least 2\n" in said.err
    said = stepgen("quantize m.stepgen --scheme w8 -o small.stepgen")
    assert said.out.splitlines()[0].endswith(" bytes in memory")
    assert "a file of " in said.out.splitlines()[-1]


def test_operations_of_a_checkpoint_are_named_with_its_folder(stepgen, here) -> None:
    c = hf.config("gpt2")
    hf.write(here / "gpt2", c, hf.weights(c))
    assert stepgen("import gpt2 -o g.stepgen").code == 0
    np.save("ids.npy", np.arange(8) % hf.VOCABULARY)
    said = stepgen("quantize g.stepgen --calibrate ids.npy")
    assert said.code == 2
    assert " at gpt2: the scheme int has no form of it" in said.err


def in_steps(made: dict[str, Any]) -> dict[str, Any]:
    """Tensors whose linears are int8, with a scale for each column and one of what they read."""
    stored = dict(made)
    for name in [name for name in made if name.endswith("proj.weight")]:
        scale = np.abs(made[name]).max(1, keepdims=True) / 127
        stored[name] = np.rint(made[name] / scale).astype(np.int8)
        stored[f"{name}_scale"] = scale.astype(np.float32)
        stored[name.replace("weight", "input_scale")] = np.float32([0.02])
    return stored


VALUES = {"num_bits": 8, "type": "int", "strategy": "tensor", "dynamic": False}
W8A8 = {
    **{"quant_method": "compressed-tensors", "format": "int-quantized"},
    "config_groups": {
        "group_0": {
            "weights": {"num_bits": 8, "type": "int", "strategy": "channel"},
            "input_activations": VALUES,
        }
    },
}
LINEAR = "model.layers.0.mlp.up_proj"


def test_a_checkpoint_that_others_quantized(stepgen, here) -> None:
    """Its linears read int8 in steps, and one that says too little changes no file."""
    c = hf.config("llama", num_hidden_layers=1, quantization_config=W8A8)
    made = in_steps(hf.weights(c))
    hf.write(here / "made", c, made)
    assert stepgen("import made -o m.stepgen --json").json["operations"]["scaled_linear"] == 7
    steps = [op.name for op in walk(load("m.stepgen").ops) if "step" in op.weights]
    assert len(steps) == 7
    before = Path("m.stepgen").read_bytes()
    for name, value, config, sentence in (
        (f"{LINEAR}.weight_scale", None, W8A8, f"int8, but {LINEAR}.weight_scale is missing"),
        (f"{LINEAR}.input_scale", None, W8A8, f"input_activations, but no {LINEAR}.input_scale"),
        (f"{LINEAR}.input_scale", 0.0, W8A8, f"{LINEAR}.input_scale must have finite numbers ab"),
        (f"{LINEAR}.input_zero_point", 3, W8A8, f"{LINEAR}.input_zero_point must be 0, not 3"),
        ("", None, W8A8 | {"quant_method": "awq"}, "the quant_method 'awq'; compressed-tensors"),
        ("", None, None, "has numbers of int8, and config.json has no quantization_config that"),
    ):
        changed = {key: a for key, a in made.items() if key != name}
        if value is not None:
            changed[name] = np.asarray([value], np.float32)
        hf.write(here / "bad", c | {"quantization_config": config}, changed)
        said = stepgen("import bad -o m.stepgen")
        assert (said.code, Path("m.stepgen").read_bytes()) == (2, before)
        assert sentence in said.err


def test_a_model_is_shown_with_what_a_token_takes(stepgen, here, llama) -> None:
    stepgen("import llama -o m.stepgen")
    shown = stepgen("show m.stepgen --set cache=10").out
    data = stepgen("show m.stepgen --set cache=10 --json").json
    layer = {one["name"]: one for one in data["operations"]}
    q = layer["model.layers.*.self_attn.q_proj"]
    assert (q["parameters"], q["bytes"], q["flops_per_token"]) == (576, 2304, 1152)
    assert q["layers"] == 4
    attention = layer["model.layers.*.self_attn.attention"]
    assert attention["read_bytes_per_token"] == 10 * 2 * 12 * 4
    assert attention["flops_per_token"] == 4 * 10 * (2 * 6 + 2 * 6 + 7)
    assert data["cache_bytes_per_token"] == 4 * 2 * 12 * 4
    made = llama["weights"]
    count = sum(a.size for a in made.values()) + 3  # the frequencies of RoPE
    assert data["total"]["parameters"] == count
    embedded = made["model.embed_tokens.weight"].size
    read = 4 * (count - embedded + 24) + 4 * (10 * 2 * 12 * 4)
    # Frequencies are read for queries and for keys, in each layer.
    assert data["total"]["read_bytes_per_token"] == read + 4 * 3 * (2 * 4 - 1)
    assert f"{count:,}" in shown
    assert "loop of 4 layers" in shown


def test_what_each_operation_becomes(stepgen, here) -> None:
    b = Builder("mlp")
    save(b.model(b.linear(b.input("x", 8), np.ones((8, 16)), name="up")), "mlp.stepgen")
    shown = stepgen("show mlp.stepgen --compiled --lanes 2")
    assert shown.code == 0
    lines = shown.out.splitlines()
    assert lines[0] == "mlp: 2 lanes, memory port of 64 bits, tiles of 1 token"
    assert "matvec for weights of 16 x 8: one row" in " ".join(shown.out.split())
    data = stepgen("show mlp.stepgen --compiled --lanes 2 --set rows=4 --json").json
    (up,) = data["entries"]
    assert (up["name"], up["read"], up["multipliers"]) == ("up", 2 * 8 * 16 // 4, 4)
    assert up["cycles"] == 8 * 16 // 4  # of products, a token
    cycles = stepgen("show mlp.stepgen --json").json["operations"][0]["cycles_per_token"]
    assert cycles == 2 * 8 * 16 // 8


def _experts() -> Any:
    """A layer of 3 experts."""
    rng, b = np.random.default_rng(0), Builder("moe")
    shapes = [(8, 3), (3, 8, 4), (3, 8, 4), (3, 4, 8)]
    return b.model(b.experts(b.input("x", 8), *(rng.normal(size=s) for s in shapes), top=2))


def test_experts_and_lengths_of_traces(stepgen, here, llama) -> None:
    save(_experts(), "moe.stepgen")
    np.save("routing.npy", [[0, 1], [1, 0], [0, 1], [1, 0]])
    off_chip = {}
    for how in ("--set tiling=address", "--set tiling=static --set expert_rows=2", ""):
        line = f"metrics moe.stepgen --set block=experts --routing routing.npy {how} --json"
        off_chip[how] = stepgen(line).json["numbers"]["traffic"]
    assert [*off_chip.values()] == [4 * 2 * 192, 2 * 2 * 192, 2 * 192]
    multiplexed = stepgen(
        "show moe.stepgen --routing routing.npy --transform time_multiplex:regions=1"
    )
    assert multiplexed.code == 0
    assert "eager_merge" in multiplexed.out
    stepgen("import llama -o m.stepgen")
    np.save("lengths.npy", [3, 9, 0])
    attention = "show m.stepgen --set block=self_attn"
    shown = stepgen(f"{attention} --lengths lengths.npy").out
    assert shown == stepgen(f"{attention} --set batch=3 --set cache=10 --set filled=3,9,0").out
    assert "Stream[address 1x2; 1, 3, 2]" in shown


def test_schedules_of_a_block_side_by_side(stepgen, here, llama) -> None:
    save(_experts(), "moe.stepgen")
    np.save("routing.npy", [[0, 1], [1, 0], [0, 1], [1, 0]])
    line = "time moe.stepgen --routing routing.npy --set expert_rows=2"
    found = {
        one["schedule"]: one for one in stepgen(f"{line} --schedules 1 --json").json["schedules"]
    }
    assert [one["read"] for one in found.values()] == [n * 2 * 192 for n in (4, 2, 1, 2, 1)]
    alone = stepgen(f"{line} --transform time_multiplex:regions=1 --json").json
    assert found["dynamic, 1 region"]["cycles"] == alone["cycles"]
    assert found["dynamic tiles"]["multipliers"] > found["dynamic, 1 region"]["multipliers"]
    stepgen("import llama -o m.stepgen")
    np.save("lengths.npy", [3, 9])
    attention = "time m.stepgen --set block=self_attn.attention --lengths lengths.npy --schedules 2"
    shown = stepgen(attention).out
    assert all(f"{how}, 2 regions" in shown for how in ("coarse", "interleaved", "dynamic"))


@pytest.mark.slow
def test_experts_by_tiles_as_a_circuit(stepgen, here) -> None:
    save(_experts(), "moe.stepgen")
    np.save("routing.npy", [[0, 1], [1, 2], [0, 1]])
    line = "test moe.stepgen --routing routing.npy --lanes 2 --driver cpp --json"
    assert stepgen(line).json["good"]


def test_the_program_of_a_model_is_shown(stepgen, here, llama) -> None:
    """Nothing is drawn for it, not even ids."""
    stepgen("import llama -o m.stepgen")
    shown = stepgen("show m.stepgen --set phase=decode --set cache=8")
    assert shown.code == 0
    assert "random_offchip_load" in shown.out


def test_characters_beside_a_checkpoint(stepgen, here, llama) -> None:
    characters = Path("llama/characters.json")
    characters.write_text('["a", "b", "\\n"]')
    assert stepgen("import llama -o m.stepgen").code == 0
    assert load("m.stepgen").characters == "ab\n"
    for text in ('["a", "bc"]', '{"a": 0}', "["):
        characters.write_text(text)
        said = stepgen("import llama -o m.stepgen")
        assert said.code == 2
        assert "llama/characters.json" in said.err


def test_a_model_that_a_function_builds(stepgen, here) -> None:
    assert stepgen("import p.py:mlp --set width=6 -o m.stepgen").code == 0
    np.savez("x.npz", x=np.ones((2, 6)))
    said = stepgen("run m.stepgen --golden --inputs x.npz -o y.npz --save-inputs in.npz")
    assert said.code == 0
    hidden = 3 / (1 + np.exp(-3))
    with np.load("y.npz") as found:
        assert np.allclose(found["y"], 12 * hidden * 0.25)
    with np.load("in.npz") as found:
        assert np.array_equal(found["x"], np.ones((2, 6)))
    assert "drawn: x (seed 0)" in stepgen("run m.stepgen --golden").out


def test_a_text_is_decoded_token_by_token(stepgen, here, llama) -> None:
    assert stepgen("import llama -o m.stepgen").code == 0
    ids = np.arange(7) * 5 % hf.VOCABULARY
    np.save("ids.npy", ids)
    given = "--ids ids.npy --set element=f32 --set cache=8 --set tile=3"
    assert stepgen(f"run m.stepgen {given} -o out.npz").code == 0
    want = hf.logits(llama["config"], llama["weights"], ids)
    with np.load("out.npz") as found:
        assert np.allclose(found["logits"], want, rtol=0, atol=2e-6 * np.abs(want).max())


def test_prompts_of_different_length_are_decoded_together(stepgen, here, llama) -> None:
    """Each gives what it gives by itself."""
    assert stepgen("import llama -o m.stepgen").code == 0
    prompts = {"first": [3, 1, 4, 1], "second": [5], "third": [9, 2]}
    np.savez("prompts.npz", **{name: np.array(ids) for name, ids in prompts.items()})
    given = "--set element=f32 --set cache=8 --set tile=3 --more 2"
    data = stepgen(f"run m.stepgen --ids prompts.npz {given} -o out.npz --json").json
    with np.load("out.npz") as found:
        for name, ids in prompts.items():
            text = [*ids, *data["generated"][name]]
            want = hf.logits(llama["config"], llama["weights"], np.array(text))
            error = np.abs(found[f"{name}/logits"] - want[-1]).max()
            assert error < 2e-6 * np.abs(want).max()
            assert [int(row.argmax()) for row in want[len(ids) - 1 : -1]] == text[len(ids) :]
    np.save("first.npy", prompts["first"])
    golden = stepgen("run m.stepgen --golden --ids first.npy --more 2 -o golden.npz --json").json
    assert golden["generated"] == data["generated"]["first"]
    with np.load("golden.npz") as whole, np.load("out.npz") as found:
        assert np.allclose(whole["logits"][-1], found["first/logits"], rtol=0, atol=2e-6)
    # In chunks; and with two places, the third request joins when another one leaves.
    for more in ("--set phase=prefill --set rows=3", "--set batch=2"):
        alike = stepgen(f"run m.stepgen --ids prompts.npz {given} {more} --json")
        assert alike.json["generated"] == data["generated"]


@pytest.mark.slow
def test_prompts_are_tested_together(stepgen, here) -> None:
    rng, b = np.random.default_rng(0), Builder("attend")
    x = b.embedding(b.ids(), rng.normal(size=(20, 4)))
    q, k, v = (b.heads(b.linear(x, rng.normal(size=(4, 4))), 4) for _ in "qkv")
    save(b.model(b.join(b.attention(q, k, v, scale=1))), "m.stepgen")
    np.savez("prompts.npz", a=[3, 1, 4], b=[5])
    line = (
        "test m.stepgen --ids prompts.npz --set cache=4 --set tile=2 --lanes 2 --driver cpp --json"
    )
    data = stepgen(line).json
    assert data["good"]
    assert len(data["tokens"]) == 3
    data = stepgen(f"{line} --set phase=prefill --set rows=2 --set batch=1").json
    assert data["good"]
    assert len(data["tokens"]) == 3  # two chunks of the first prompt, then the second prompt


@pytest.mark.slow
def test_a_text_is_tested_on_one_memory(stepgen, here) -> None:
    rng, b = np.random.default_rng(0), Builder("attend")
    x = b.embedding(b.ids(), rng.normal(size=(20, 8)))
    q, k, v = (b.heads(b.linear(x, rng.normal(size=(8, 8))), 8) for _ in "qkv")
    save(b.model(b.join(b.attention(q, k, v, scale=1))), "m.stepgen")
    np.save("ids.npy", [3, 1, 4, 1, 5])
    line = "test m.stepgen --ids ids.npy --set cache=8 --set tile=2 --lanes 2 --driver cpp --json"
    data = stepgen(line).json
    assert data["good"]
    assert [one["predicted"] for one in data["tokens"]] == [
        one["simulated"] for one in data["tokens"]
    ]
    assert len(data["tokens"]) == 5
    assert data["cycles"]["simulated"] == sum(one["simulated"] for one in data["tokens"])


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("import none", "none is not a folder: give path.py:function, a folder with config.json"),
        ("import none.py:make", "there is no file none.py"),
        (
            "import moe",
            "moe.py:moe must return a module, or a module and example inputs, not Graph",
        ),
        ("import m.pth", "m.pth may run code when it is read: give path.py:function, a folder"),
        ("import weights.safetensors", "has weights without the config of their model: give"),
        ("import .", ". is not a checkpoint: it has no config.json"),
        ("import m.pt2", "m.pt2 is a flat program without modules"),
        ("import p.py:layer", "must return a module, or a module and example inputs, not Graph"),
        ("import llama --set a=1", "llama is a checkpoint and takes no parameters"),
        ("import llama --tokens 0", "0 is not in the range"),
        ("import llama -o llama.npz", "--out is a file that ends in .stepgen"),
        ("show none.stepgen", "there is no file none.stepgen"),
        ("show llama/model.safetensors", "there is no program"),
        ("show junk.stepgen", "junk.stepgen is not a file of safetensors"),
        ("show weights.stepgen", "has weights but no model: stepgen import makes one"),
        (
            "show m.stepgen --set x=1",
            "has no parameter 'x', it has phase, element, rows, columns, cache, tile, batch, last",
        ),
        ("show m.stepgen --set cache=0", "needs cache to be an integer of at least 1, not '0'"),
        ("run m.stepgen --golden --set cache=1", "has no parameter 'cache', it has none here"),
        ("time m.stepgen --set block=foo", "llama has no block 'foo', it has"),
        ("time m.stepgen --set layer=2", "layer=2 is that of a block: add block=..."),
        ("time m.stepgen --set block=mlp --set layer=4", "layers 0 to 3, so layer can't be 4"),
        ("time m.stepgen --routing few.csv", "has no experts, and --routing is of one layer's"),
        ("time m.stepgen --lengths far.npy", "takes 32 tokens at most, and request 1 of --lengths"),
        (
            "time moe.stepgen --routing far.csv",
            "it sends token 0 to expert 3, of the experts 0 to 2",
        ),
        ("time moe.stepgen --routing few.csv --inputs x.npz", "has 1 tokens, and x has 2"),
        ("time moe.stepgen --schedules 1", "experts or attention: give --routing or --lengths"),
        ("time moe.stepgen --routing few.csv --schedules 2", "divide 3 branches evenly among 2"),
        (
            "time moe.stepgen --routing few.csv --set tiling=static --schedules 1",
            "--schedules chooses what --set tiling does: leave it out",
        ),
        ("time mlp.stepgen --set array=shared", "mlp: array=shared changes nothing here: an array"),
        ("time p.py:layer --loaders shared", "--loaders shared changes nothing in "),
        ("time mlp.stepgen --lengths far.npy", "has no attention, whose caches --lengths fills"),
        ("show p.py:layer --compiled", "--compiled is for models"),
        ("show m.stepgen --compiled --svg x.svg", "--compiled prints units, and --svg and --dot"),
        ("show m.stepgen --start-times --itensor", "--start-times prints depths of FIFOs: leave"),
        ("show m.stepgen --compiled --design", "--compiled those of operations: leave one"),
        ("show m.stepgen --compiled --dim T=3", "--dim can't be given with --compiled"),
        ("show m.stepgen --compiled --set rows=2", "one token of a request, so rows must be 1"),
        ("show mlp.stepgen --set group=1", "group=1 is one of a budget: add onchip_bits="),
        ("show mlp.stepgen --set onchip_bits=9", "one tile of tokens, so phase must be decode or"),
        ("show mlp.stepgen --compiled --set filled=2", "keeps no caches, so filled can't be 2"),
        ("run m.stepgen --golden --ids none.npy", "can't read the list of ids none.npy"),
        ("run m.stepgen --golden --ids far.npy", "40 of token 1 is past its table of 29 rows"),
        ("run m.stepgen --golden --ids long.npy", "takes 1 to 32 tokens in a run, not 33"),
        ("run m.stepgen --golden --ids empty.npy", "empty.npy has no ids: give at least 1"),
        ("run m.stepgen --golden --ids square.npy", "must have the shape [tokens], not [2, 2]"),
        ("run m.stepgen --golden --ids half.npy", "they must be integers, not 0.5 in row 1"),
        ("run mlp.stepgen --golden --ids far.npy", "mlp takes no ids, its inputs are x"),
        ("run m.stepgen --golden --inputs far.npz", "llama has no input 'y'"),
        ("run p.py:layer --golden", "--ids and --golden are for models"),
        (
            "run p.py:layer --ids far.npy",
            "--ids and --golden are for models",
        ),
        (
            "run m.stepgen --golden --ids far.npy --more 31",
            "its caches hold 32 tokens, 2 are there and 31 more do not fit; the model takes 32 at",
        ),
        ("run m.stepgen --golden --more 2", "--more goes on behind a text: give it by --ids"),
        ("time m.stepgen --set phase=stream", "attention can only be lowered with phase=decode"),
        ("time m.stepgen --set cache=33", "takes 32 tokens at most, so its cache has no 33 rows"),
        ("time m.stepgen --set cache=8 --set filled=8", "8 are there and 1 more do not fit"),
        ("run m.stepgen --ids far.npy --set filled=1", "so filled can't be 1"),
        ("run m.stepgen --ids two.npz --set filled=2", "their first tokens on, so filled can't be"),
        ("run m.stepgen --ids two.npz --set apart=true", "first tokens on, so apart can't be True"),
        ("run m.stepgen --ids two.npz --set cache=2", "request b: its caches hold 2 tokens"),
        ("run m.stepgen --ids square.npz", "b must have the shape [tokens], not [1, 2]"),
        ("run m.stepgen --ids long.npy", "takes 1 to 32 tokens in a run, not 33"),
        ("run m.stepgen --ids far.npy --save-inputs x.npz", "--save-inputs is for one run"),
        ("run mlp.stepgen --set filled=1", "keeps no caches, so filled can't be 1"),
        ("time mlp.stepgen --set element=int8", "needs element to be one of bf16, f32, not 'int8'"),
        ("time mlp.stepgen --set rows=0", "rows must be an integer of at least 1, not 0"),
        ("run m.stepgen --ids far.npy", "40 of token 1 is past its table of 29 rows"),
        ("test m.stepgen --ids far.npy", "40 of token 1 is past its table of 29 rows"),
        ("test m.stepgen --ids far.npy --dim T=3", "--dim can't be given with --ids"),
        (
            "test p.py:layer --ids far.npy",
            "--ids and --golden are for models",
        ),
        ("run mlp.stepgen --ids far.npy", "takes all tokens in one run: give them by --inputs"),
        ("run mlp.stepgen --inputs far.npz", "mlp has no input 'y'"),
        ("import p.py:mlp -o p.py", "--out is a file that ends in .stepgen"),
    ],
)
def test_bad_input_is_one_sentence(stepgen, here, llama, line, sentence) -> None:
    save(from_checkpoint("llama"), "m.stepgen")
    b = Builder("mlp")
    save(b.model(b.linear(b.input("x", 2), np.eye(2))), "mlp.stepgen")
    (here / "junk.stepgen").write_bytes(b"junk")
    (here / "llama" / "model.safetensors").rename(here / "weights.stepgen")
    np.save("far.npy", np.array([1, 40]))
    np.save("empty.npy", np.array([], int))
    save(_experts(), "moe.stepgen")
    np.savez("two.npz", a=np.array([1]), b=np.array([1, 2, 3]))
    np.savez("square.npz", a=np.array([1]), b=np.array([[1, 2]]))
    (here / "few.csv").write_text("0,1\n")
    (here / "far.csv").write_text("0,3\n")
    np.savez("x.npz", x=np.zeros((2, 8)))
    np.save("long.npy", np.zeros(33, int))
    np.save("square.npy", np.zeros((2, 2), int))
    np.save("half.npy", np.array([0.5]))
    np.savez("far.npz", y=np.zeros(2))
    said = stepgen(line)
    assert said.code == 2
    assert said.out == ""
    assert sentence in said.err.splitlines()[-1]


def test_pytorch_is_missing(stepgen, here, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    (here / "t.py").write_text("import torch\n\n\ndef make():\n    return torch.nn.Linear(2, 2)\n")
    said = stepgen("import t.py:make -o m.stepgen")
    assert said.code == 2
    assert "needs PyTorch, which is missing: pip install 'stepgen[torch]'" in said.err


def test_an_output_stays_whole_where_the_import_fails(stepgen, here, llama) -> None:
    (here / "m.stepgen").write_text("mine")
    (here / "llama" / "config.json").write_text("{}")
    assert stepgen("import llama -o m.stepgen").code == 2
    assert (here / "m.stepgen").read_text() == "mine"


def test_a_model_is_not_written_over_itself(stepgen, here, llama) -> None:
    with pytest.raises(StepError, match=r"ends in \.stepgen, not in m\.npz"):
        save(from_checkpoint("llama"), "m.npz")
