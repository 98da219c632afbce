"""Documents: texts without conversations are resampled and held out one by one."""

import polars as pl
import pytest

import palaver as pv
from palaver.errors import ParameterError
from palaver.trials.labels import judge


@pytest.fixture(scope="module")
def documents():
    table = pv.sample(40).table.select("text", "act")
    return pv.Corpus.from_polars(table)


def test_intervals_of_documents_are_over_messages(documents):
    assert documents.n_conversations == 1
    model = pv.LDA(n_classes=4, n_sweeps=20).fit(documents, show_progress=False)
    judgement = judge(model, documents, "act", n_resamples=200)
    assert judgement.resampled == "messages"
    measured = judgement.scores.filter(pl.col("measure") == "v_measure")
    assert (measured["low"] < measured["value"]).all()
    assert (measured["value"] < measured["high"]).all()


def test_the_number_of_topics_of_documents_can_be_chosen(documents):
    choice = pv.choose(documents, "lda", classes=[2, 3], n_sweeps=10, n_chains=1,
                       show_progress=False)  # fmt: skip
    assert choice.suggested in (2, 3)


def test_lists_of_texts_are_documents(documents, tmp_path):
    texts = documents.table["text"].to_list()
    sizes = {"classes": [2, 3], "n_sweeps": 10, "n_chains": 1, "show_progress": False}
    assert pv.choose(texts, "lda", **sizes).suggested in (2, 3)
    model = pv.LDA(n_classes=2, n_sweeps=10).fit(texts, show_progress=False)
    page = pv.report(model, texts, tmp_path / "page.html").read_text()
    assert "What these documents are about" in page


def test_one_talk_with_replies_is_still_refused(documents):
    with pytest.raises(ParameterError, match="at least 4 conversations"):
        pv.choose(documents.chained(), "lda", classes=[2], show_progress=False)
