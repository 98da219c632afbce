"""Stored models and corpora that were tampered with are rejected, or as good as they look."""

import copy
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fuzz import mutations

import palaver as pv
from palaver import store
from palaver.errors import DamagedStoreError, PalaverError
from palaver.store.folder import MANIFEST


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    pv.LDA(n_classes=2, n_sweeps=4).fit(pv.sample(5), show_progress=False).save(folder)
    return folder


def use(folder):
    """Load a model and use it a little; an error of ours is a legal outcome."""
    try:
        model = pv.load(folder)
        model.top_words(3)
        model.summary()
    except PalaverError:
        return


def in_copy(stored, change):
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "model"
        shutil.copytree(stored, folder)
        change(folder)
        use(folder)


@settings(max_examples=150)
@given(data=st.data())
def test_changed_bytes_of_a_manifest(stored, data):
    text = (stored / MANIFEST).read_bytes()
    changed = data.draw(mutations(text))
    in_copy(stored, lambda folder: (folder / MANIFEST).write_bytes(changed))


WRONG = st.sampled_from(
    [None, 0, -1, 10**30, 1.5, "", "x", [], {}, [1], {"a": 1}, True, "../../x", "\ud800"]
)


@settings(max_examples=150)
@given(data=st.data())
def test_changed_values_of_a_manifest(stored, data):
    manifest = json.loads((stored / MANIFEST).read_text())
    for _ in range(data.draw(st.integers(1, 2))):
        place = manifest
        while True:
            name = data.draw(st.sampled_from(sorted(place)))
            if isinstance(place[name], dict) and place[name] and data.draw(st.booleans()):
                place = place[name]
                continue
            if data.draw(st.booleans()):
                place[name] = copy.deepcopy(data.draw(WRONG))
            else:
                del place[name]
            break
    changed = json.dumps(manifest)
    in_copy(stored, lambda folder: (folder / MANIFEST).write_text(changed))


@settings(max_examples=100)
@given(data=st.data())
def test_changed_bytes_of_an_array_that_the_manifest_admits(stored, data):
    """Sizes and checksums agree: whoever wrote the folder is hostile, not the disk."""
    import zlib

    name = data.draw(st.sampled_from(sorted(p.name for p in stored.glob("arrays-*/*.npy"))))
    plain = next(stored.glob(f"arrays-*/{name}")).read_bytes()
    changed = data.draw(mutations(plain))

    def change(folder):
        next(folder.glob(f"arrays-*/{name}")).write_bytes(changed)
        manifest = json.loads((folder / MANIFEST).read_text())
        header = changed.find(b"\n") + 1
        entry = {"bytes": len(changed), "crc32": zlib.crc32(changed[header:])}
        manifest["arrays"][name.removesuffix(".npy")] = entry
        (folder / MANIFEST).write_text(json.dumps(manifest))

    in_copy(stored, change)


@pytest.mark.parametrize("kind", ["lda", "acts", "hidden-backoff"])
def test_numbers_that_no_model_learns_are_refused(kind, tmp_path):
    corpus = pv.sample(6)
    if kind == "hidden-backoff":
        model = pv.HiddenBackoffTagger().fit(corpus)
        name, wrong = "chain.0.words0-0_0_probability", 0.0
    elif kind == "acts":
        model = pv.Acts(2, n_sweeps=4, n_chains=1).fit(corpus, show_progress=False)
        name, wrong = "extra.answer.feature_counts", -1.0
    else:
        model = pv.LDA(2, n_sweeps=4).fit(corpus, show_progress=False)
        name, wrong = "chain.0.class_words", 1e308
    model.save(tmp_path)
    found = store.load(tmp_path, "model")
    arrays = {key: np.array(array) for key, array in found.arrays.items()}
    arrays[name].flat[0] = wrong
    store.save(tmp_path, "model", found.content, arrays)
    with pytest.raises(DamagedStoreError, match="has values from"):
        pv.load(tmp_path)


@pytest.mark.parametrize("kind", ["lda", "acts", "hidden-backoff"])
def test_arrays_of_another_kind_are_refused(kind, tmp_path):
    corpus = pv.sample(6)
    if kind == "hidden-backoff":
        model = pv.HiddenBackoffTagger().fit(corpus)
        name, wrong = "chain.0.words0-0_0_pairs", np.int64(3)
    elif kind == "acts":
        model = pv.Acts(3, n_sweeps=4, n_chains=2).fit(corpus, show_progress=False)
        name, wrong = "extra.agreement", model.agreement_.T
    else:
        model = pv.LDA(2, n_sweeps=4).fit(corpus, show_progress=False)
        name, wrong = "chain.0.class_words", model.chains_[0]["class_words"].astype(np.int64)
    model.save(tmp_path)
    found = store.load(tmp_path, "model")
    store.save(tmp_path, "model", found.content, {**found.arrays, name: np.array(wrong)})
    with pytest.raises(DamagedStoreError, match=rf"{name.rpartition('.')[2]} has"):
        pv.load(tmp_path)
