"""Inputs of figures: from a folder, with published counts, or drawn."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from seeds import some_slow

import stepgen
from stepgen.cli.app import execute
from stepgen.ir.errors import StepError
from stepgen.study import published, traces
from stepgen.study.traces import Traces, with_counts


def test_a_folder_goes_before_what_is_drawn(tmp_path):
    (tmp_path / "routing").mkdir()
    (tmp_path / "kv_lengths").mkdir()
    routing = np.tile([[0, 1], [7, 3]], (32, 1))
    np.savez(tmp_path / "routing" / "mixtral8x7b_batch64.npz", data=routing)
    np.save(tmp_path / "kv_lengths" / "azure_batch16_stdev0479_1063_1078.npy", np.arange(1, 17))
    own = traces.found(tmp_path)
    model = own.model("mixtral")
    trace = own.routing(model, 64)
    assert (trace.origin, trace.array.tolist()) == ("published", routing.tolist())
    assert own.lengths(16, 479, 1063).values == tuple(range(1, 17))
    assert own.lengths(16, 479, 2477).origin == "drawn"


@pytest.mark.parametrize(
    ("routing", "lengths", "sentence"),
    [
        (
            np.tile([0, 1], (63, 1)),
            None,
            r"not the routing of the figure: .* \[63, 2\], not \[64, 2",
        ),
        (
            np.tile([0, 8], (64, 1)),
            None,
            "is not a routing of Mixtral-8x7B: it names expert 8, the last",
        ),
        (None, np.arange(9), r"is not the batch of the figure: it has the shape \[9\], not \[16\]"),
    ],
)
def test_traces_of_another_batch_are_refused(routing, lengths, sentence, tmp_path):
    for folder in ("routing", "kv_lengths"):
        (tmp_path / folder).mkdir()
    own = Traces(tmp_path)
    if lengths is not None:
        np.save(tmp_path / "kv_lengths" / "azure_batch16_stdev0479_1063_1078.npy", lengths)
    if routing is not None:
        np.savez(tmp_path / "routing" / "mixtral8x7b_batch64.npz", data=routing)
    with pytest.raises(StepError, match=sentence):
        _ = own.lengths(16, 479, 1063), own.routing(own.model("mixtral"), 64)


def test_the_environment_may_name_the_folder(tmp_path, monkeypatch):
    monkeypatch.delenv(traces.VARIABLE, raising=False)
    assert traces.found(None) == Traces()
    (tmp_path / "routing").mkdir()
    (tmp_path / "routing" / "any.npz").touch()
    monkeypatch.setenv(traces.VARIABLE, str(tmp_path))
    assert traces.found(None) == Traces(tmp_path)


def test_a_folder_without_traces_is_refused(tmp_path):
    for made in ("", "routing"):
        (tmp_path / made).mkdir(exist_ok=True)
        with pytest.raises(StepError, match="holds no traces: neither routing/"):
            traces.found(tmp_path)
    with pytest.raises(StepError, match=r"there is no folder .*nix of"):
        traces.found(tmp_path / "nix")


@pytest.mark.parametrize(("model", "tokens"), published.COUNTS)
def test_a_routing_with_given_counts_has_them(model, tokens):
    own = Traces()
    sizes = own.model(model).sizes
    counts = published.COUNTS[model, tokens]
    trace = own.routing(own.model(model), tokens)
    assert trace.origin == "counts"
    assert np.bincount(trace.array.ravel(), minlength=sizes["experts"]).tolist() == list(counts)
    assert all(len(set(row)) == sizes["top"] for row in trace.values)


@pytest.mark.parametrize("seed", range(5))
def test_counts_that_leave_no_choice_are_met(seed):
    counts = [6, 6, 6, 3, 2, 1]
    rows = with_counts(counts, 6, 4, seed=seed)
    assert np.bincount(rows.ravel()).tolist() == counts
    assert all(len(set(row)) == 4 for row in rows.tolist())


@pytest.mark.parametrize("batch", some_slow([16, 64, 80], 1))
def test_drawn_lengths_have_the_stated_spread_and_differ(batch):
    own, found = Traces(), []
    for _, stdev, first in published.batches(batch):
        lengths = own.lengths(batch, stdev, first).array
        assert lengths.shape == (batch,)
        assert abs(lengths.std(ddof=1) - stdev) < 3 + 0.02 * stdev
        found.append(tuple(lengths))
    assert len(set(found)) == 9


@pytest.mark.usefixtures("faked")
def test_figures_look_for_the_names_that_are_documented(asked):
    assert asked.seen == set(traces.names())
    page = (Path(stepgen.__file__).parents[1] / "docs" / "figures.md").read_text()
    for name in traces.names():
        batch = re.fullmatch(r"kv_lengths/azure_batch(\d+)_stdev([\d_]+)\.npy", name)
        if batch is None:
            assert f"\n{name}\n" in page
        else:
            (row,) = re.findall(rf"^\| {batch[1]} \| `\d{{4}}_.*$", page, re.MULTILINE)
            assert f"`{batch[2]}`" in row


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("routing/mixtral8x7b_batch64.npz", None),
        ("routing/mixtral_batch64.npz", "routing/mixtral8x7b_batch64.npz"),
        ("routing/qwen3_30b_a3b_batch1024.npy", "routing/qwen3_30b_a3b_batch1024.npz"),
        ("routings/qwen3_30b_a3b_batch64.npz", "routing/qwen3_30b_a3b_batch64.npz"),
        ("kv_lengths/azure_batch16_stdev1456_2805_2820.npy", None),
        ("kv_lengths/azure_batch16_stdev1456_2805_2821.npy", "1456_2805_2820.npy"),
        ("kv_lengths/b16/azure_batch16_stdev1456_2805_2820.NPY", "1456_2805_2820.npy"),
        ("kv_lengths/a.txt", ""),
        ("x.csv", ""),
        ("README.md", None),
        ("routing/.hidden", None),
    ],
)
def test_unused_files_are_named(file, said, tmp_path):
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).touch()
    found = list(Traces(tmp_path).unused())
    if said is None:
        assert found == []
    else:
        hint = f"; .*{re.escape(said)} is not there" if said else ""
        (sentence,) = found
        assert re.fullmatch(f"no figure uses {re.escape(file)} of {tmp_path}{hint}", sentence)


def test_a_misnamed_trace_is_reported(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("STEPGEN_CACHE", str(tmp_path / "cache"))
    (tmp_path / "routing").mkdir()
    np.savez(tmp_path / "routing" / "mixtral_batch64.npz", data=np.tile([0, 1], (64, 1)))
    line = ["figure", "8", "--view", "fair", "--out", str(tmp_path / "out"), "--data"]
    assert execute([*line, str(tmp_path), "--json"]) == 0
    said = capsys.readouterr()
    (sentence,) = json.loads(said.out)["warnings"]
    assert sentence.startswith("no figure uses routing/mixtral_batch64.npz")
    assert said.err == f"stepgen: {sentence}\n"
