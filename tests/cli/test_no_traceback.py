"""What used to end in a traceback ends in one message."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from support.verbs import call, fails

import palaver as pv
from palaver.errors import InputError, StoppedError


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    pv.sample(10).write(folder / "x.jsonl")
    call("fit", "lda", folder / "x.jsonl", "--classes", 2, "--sweeps", 4, "--out", folder / "run")
    return folder / "run"


def palaver(*arguments):
    command = [sys.executable, "-m", "palaver", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_deep_json_in_names(run, tmp_path):
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 100_000)
    assert "is not JSON" in fails("report", run, "--names", deep, "--out", tmp_path / "x.html")
    (run / "curation.json").write_text("[" * 100_000)
    try:
        assert "delete it to begin again" in fails("classes", run)
    finally:
        (run / "curation.json").unlink()


@pytest.mark.parametrize("verb", [["check"], ["fit", "lda"], ["people"]])
def test_names_that_are_too_long(verb, tmp_path):
    long = tmp_path / ("x" * 256 + ".jsonl")
    out = ["--out", tmp_path / "run"] if verb[0] == "fit" else []
    done = palaver(*verb, long, *out)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "no such file or folder" in done.stderr


def test_a_folder_to_write_whose_name_is_too_long(tmp_path):
    data = pv.sample(5).write(tmp_path / "x.jsonl")
    done = palaver("fit", "lda", data, "--out", tmp_path / ("x" * 256))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "too long" in done.stderr.lower()


@pytest.mark.parametrize("name", ["a b", "ünï 你 😀", "100% [x]*?", 'it\'s "x"', ".hidden", "a\nb"])
def test_odd_paths(name, tmp_path):
    place = tmp_path / name
    place.mkdir()
    data = pv.sample(8).write(place / f"{name}.jsonl")
    run, page = place / f"{name} run", place / f"{name}.html"
    call("fit", "lda", data, "--classes", 2, "--sweeps", 3, "--out", run)
    call("fit", "--resume", run, "--sweeps", 4)
    call("report", run, data, "--out", page)
    assert pv.load(run).n_sweeps_ == 4
    assert page.stat().st_size > 10_000
    assert sorted(path.name for path in place.iterdir()) == sorted([data.name, run.name, page.name])


def test_settings_that_name_no_model(run, tmp_path):
    import shutil

    from palaver import store

    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    store.save(copy / "settings", "run settings", {"source": "x", "reading": {}}, {})
    assert "does not say which model" in fails("fit", "--resume", copy)


def test_an_array_that_is_missing_from_the_data(run, tmp_path):
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    manifest = copy / "data" / "manifest.json"
    content = json.loads(manifest.read_text())
    del content["arrays"]["speakers"]
    manifest.write_text(json.dumps(content))
    assert "complete corpus" in fails("fit", "--resume", copy, "--sweeps", 6)


def test_more_classes_than_the_memory_holds(monkeypatch):
    model = pv.LDA(n_classes=2, n_sweeps=2)

    def no_room(self, *arguments):
        raise MemoryError("Unable to allocate 33.5 GiB")

    monkeypatch.setattr(pv.LDA, "_shards", no_room)
    with pytest.raises(StoppedError, match=r"not enough for 2 classes.*33\.5 GiB.*lower n_classes"):
        model.fit(pv.sample(5), show_progress=False)


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        (np.ones((3, 3)) + 1j, "complex"),
        (np.ma.masked_less(np.eye(3), 1), "mask"),
        (sparse.csr_matrix(np.eye(3) * 1j), "complex"),
        (sparse.csr_matrix((np.ones(3), [0, 1, 99], [0, 1, 2, 3]), shape=(3, 100))[:, :3], ""),
    ],
)
def test_graphs_that_would_lose_something(graph, said):
    if not said:
        graph.indices, graph.indptr = np.array([0, 1]), np.array([0, 1, 2, 900])
        said = "sound"
    with pytest.raises(InputError, match=said):
        pv.grasshopper(graph)
    with pytest.raises(InputError, match="complex"):
        pv.grasshopper(np.ones((3, 3)), prior=np.ones(3) * 1j)


@pytest.mark.parametrize(
    ("given", "meant"),
    [("--acts", "--classes"), ("--n_topics", "--classes"), ("-k", "--classes"),
     ("--threads", "--jobs"), ("--output", "--out")],
)  # fmt: skip
def test_options_that_have_another_name_elsewhere_get_a_suggestion(given, meant):
    said = fails("fit", "acts", "x.jsonl", given, 2)
    assert f"No such option: {given}" in said
    assert meant in said
