"""Checkpoints that were altered on purpose, with checksums that match, are refused."""

import numpy as np
import pytest

import palaver as pv
from palaver import store
from palaver.errors import DamagedStoreError
from palaver.models import model_class
from palaver.parallel.restored import Expected, check_arrays, check_numbers, check_rows


@pytest.fixture(scope="module")
def encoded():
    return pv.encode(pv.sample(6))


def model(name, n_sweeps):
    kind = model_class(name)
    wanted = {"n_sweeps": n_sweeps, "n_samples": 2, "start_sweeps": 1, **kind.sized(3),
              "one_state_per_word": False}  # fmt: skip
    known = {key: value for key, value in wanted.items() if key in kind.limits}
    return kind(**known, random_state=1)


@pytest.fixture(scope="module")
def run_of(encoded, tmp_path_factory):
    """Return what a function does to the checkpoint of a run, and then to the run."""
    folder = tmp_path_factory.mktemp("runs")

    def resumed(name, change):
        place = folder / name
        if not place.exists():
            model(name, 4).fit(encoded, folder=place, checkpoint_seconds=0, show_progress=False)
        kept = store.load(place / "checkpoint")
        arrays = {key: np.array(array) for key, array in kept.arrays.items()}
        change(arrays)
        store.save(place / "checkpoint", "checkpoint", kept.content, arrays)
        try:
            return model(name, 5).fit(encoded, folder=place, show_progress=False)
        finally:
            store.save(place / "checkpoint", "checkpoint", kept.content, kept.arrays)

    return resumed


def setter(name, value):
    def change(arrays):
        arrays[name].reshape(-1)[0] = value

    return change


def shorter(name):
    def change(arrays):
        arrays[name] = arrays[name][:-1]

    return change


@pytest.mark.parametrize(
    ("name", "change", "what"),
    [
        ("lda", setter("state.0.0.classes", 999), "classes"),
        ("lda", setter("state.0.0.word_class_counts", 77), "word_class_counts"),
        ("lda", setter("shared.0.share_prior", -1.0), "share_prior"),
        ("lda", setter("shared.0.omega", np.nan), "omega"),
        ("lda", setter("draws.0.class_shares", 5.0), "class_shares"),
        ("m4", shorter("state.0.0.classes"), "classes"),
        ("m4", setter("shared.0.weights", 1e308), "weights"),
        ("block-hmm", setter("state.0.0.message_classes", -7), "message_classes"),
        ("block-hmm", setter("state.0.0.transition_counts", 9), "transition_counts"),
        ("infinite-hmm", setter("state.0.0.states", 300), "states"),
        ("infinite-hmm", setter("shared.0.relabel", 300), "relabel"),
        ("infinite-hmm", shorter("shared.0.emissions"), "emissions"),
        ("gaussian-mixture", setter("shared.0.rows", 4.0), "rows"),
        ("online-lda", setter("shared.0.topics", 0.0), "topics"),
        ("markov-m3", setter("state.0.0.visits", 50), "visits"),
        ("nested-hdp", setter("state.0.0.nodes", 50), "nodes"),
        ("nested-hdp", setter("shared.0.parents", 2), "parents"),
    ],
)
def test_altered_states_are_refused_with_their_name(run_of, name, change, what):
    with pytest.raises(DamagedStoreError, match=f"{what}.*remove this folder"):
        run_of(name, change)


def test_what_was_not_altered_goes_on(run_of):
    assert run_of("m4", lambda arrays: None).n_sweeps_ == 5


def test_bounds_of_arrays():
    whole = Expected((2,), np.int64, 0, 3)
    check_arrays({"a": np.array([0, 2])}, {"a": whole})
    with pytest.raises(ValueError, match="from 0 to 3"):
        check_arrays({"a": np.array([0, 3])}, {"a": whole})
    check_arrays({"a": np.ones(())}, {"a": Expected((), most=1)})
    with pytest.raises(ValueError, match="missing"):
        check_arrays({}, {"a": whole})
    with pytest.raises(ValueError, match="sum to one"):
        check_rows(np.full((2, 2), 0.4), (2, 2))
    check_numbers({"log_a": np.array([-np.inf])})
    with pytest.raises(ValueError, match="not finite"):
        check_numbers({"a": np.array([np.nan])})


def test_a_tagger_that_was_stopped_goes_on(tmp_path):
    """Its best score so far is minus infinity at first."""
    corpus = pv.sample(8)

    def tagger():
        return pv.HiddenBackoffTagger(random_state=1)

    options = {"folder": tmp_path, "checkpoint_seconds": 0, "show_progress": False}
    tagger().fit(corpus, callbacks=[lambda sweep, chains: sweep >= 2], **options)
    resumed = tagger().fit(corpus, **options)
    np.testing.assert_array_equal(resumed.predict(corpus), tagger().fit(corpus).predict(corpus))
