"""The file of texts: every character arrives, and a build that fails leaves nothing."""

from contextlib import closing

import numpy as np
import polars as pl
import pytest
from support.workbench import make_run, opened

import palaver as pv
from palaver.explore import build as building
from palaver.explore.stored import origin_of
from palaver.explore.texts import Texts, write_texts
from palaver.explore.words import parts_of

TEXTS = [
    "plain words",
    'a "quote" and \\u0000 spelled',
    "nul\x00 inside",
    "我想退货",
    "naïve 🙂",
    "",
]


@pytest.mark.parametrize("chosen", [[0, 1], [0, 2], [0, 3, 4], range(6)])
def test_texts_come_back_as_they_were(chosen, tmp_path):
    texts = [TEXTS[i] for i in chosen]
    table = pl.DataFrame({"id": [str(i) for i in chosen], "text": texts})
    originals = pl.Series([*texts[:-1], "as it was"])
    path = tmp_path / "texts.sqlite"
    write_texts(path, table, originals, [("c", "title")], {"speaker": ["Ann"]}, lambda share: None)
    with closing(Texts(path)) as stored:
        kept = [*[None] * (len(texts) - 1), "as it was"]
        assert stored.between(0, 9) == list(zip(range(9), table["id"], texts, kept, strict=False))
        for _ in range(2):  # the second answer is one that was kept
            assert np.flatnonzero(stored.matching(parts_of("plain"))).tolist() == [0]
        assert not stored.matching([]).any()
        if "我想退货" in texts:
            found = np.flatnonzero(stored.matching(parts_of("退货")))
            assert found.tolist() == [texts.index("我想退货")]


def test_a_reading_that_fails_ends_the_writing(run, corpus, tmp_path, monkeypatch):
    own = make_run(tmp_path / "run", pv.load(run), corpus)
    before = sorted(path.name for path in (own / "explore").iterdir())

    def fail(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(building, "_read", fail)
    with pytest.raises(KeyboardInterrupt):
        building.build(own, pv.load(own), corpus, origin_of(own, "x"))
    monkeypatch.undo()
    building.build(own, pv.load(own), corpus, origin_of(own, "x"))
    assert len(before) == len(list((own / "explore").iterdir()))


def test_an_empty_file_does_not_replace_an_index(run, corpus, tmp_path):
    own = make_run(tmp_path / "run", pv.load(run), corpus)
    nothing = pv.Corpus.from_polars(corpus.table[:0])
    with pytest.raises(pv.errors.InputError, match="has no messages"):
        building.build(own, pv.load(own), nothing, origin_of(own, "empty.jsonl"))
    with closing(opened(own)) as workbench:
        assert workbench.index.n_messages == corpus.n_messages
