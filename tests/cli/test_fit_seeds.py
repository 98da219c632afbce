"""``fit --seeds``: words that say what the first classes should be."""

import numpy as np
import pytest
from support.verbs import call, fails

import palaver as pv
from palaver.cli.seeds import strayed


@pytest.fixture(scope="module")
def threads(tmp_path_factory):
    return pv.sample(15).write(tmp_path_factory.mktemp("data") / "threads.jsonl")


@pytest.fixture
def seeds(tmp_path):
    path = tmp_path / "seeds.toml"
    path.write_text('thanks = ["thanks", "thank"]\n"asks for help" = ["how", "help"]\n')
    return path


@pytest.mark.parametrize("model", ["acts", "m4", "block-hmm"])
def test_seeds_name_the_first_classes_and_stay_with_the_run(model, threads, seeds, tmp_path):
    run = tmp_path / "run"
    call("fit", model, threads, "--seeds", seeds, "--classes", 4, "--sweeps", 4, "--chains", 1,
         "--out", run)  # fmt: skip
    fitted = pv.load(run)
    assert fitted.seed_words == {"thanks": ["thanks", "thank"], "asks for help": ["how", "help"]}
    assert {"thanks", "asks for help"} <= set(fitted.summary().class_names.values())
    seeds.unlink()
    call("fit", "--resume", run, "--sweeps", 6)
    assert pv.load(run).seed_words == fitted.seed_words


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "has no words"),
        (b"thanks", "is no TOML"),
        (b"\xff\xfe", "is no TOML"),
        (b'thanks = "thanks"', "'thanks' must be a list of words"),
        (b"thanks = []", "'thanks' must be a list of words"),
        (b'thanks = ["a", 3]', "'thanks' must be a list of words"),
        (b'[thanks]\nwords = ["a"]', "'thanks' must be a list of words"),
    ],
)
def test_wrong_files_are_explained_before_anything_is_written(content, said, threads, tmp_path):
    path = tmp_path / "seeds.toml"
    path.write_bytes(content)
    output = " ".join(fails("fit", threads, "--seeds", path, "--out", tmp_path / "run").split())
    assert said in output
    assert not (tmp_path / "run").exists()


def test_other_mistakes(threads, seeds, tmp_path):
    run = tmp_path / "run"
    assert "acts, m4, block-hmm do" in fails("fit", "lda", threads, "--seeds", seeds, "--out", run)
    missing = fails("fit", threads, "--seeds", tmp_path / "none.toml", "--out", run)
    assert "cannot be read" in " ".join(missing.split())
    assert "--seeds" in fails("fit", "--resume", run, "--seeds", seeds)


def test_seeds_whose_class_is_about_something_else_are_told():
    index = {"thanks": 0, "how": 1, "the": 2}
    words = np.array([[0.1, 0.0, 0.9], [0.6, 0.1, 0.3], [0.0, 0.3, 0.7]])
    assert strayed({"thanks": ["thanks", "cheers"], "asks": ["how"]}, words, index) == [
        (0, 1), (1, 2),
    ]  # fmt: skip
    assert strayed({"a": ["the"], "b": ["thanks"], "c": ["how", "none"]}, words, index) == []
    assert strayed({"a": ["none"]}, words, index) == []
