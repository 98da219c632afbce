"""A trained tagger on the page."""

import polars as pl
import pytest

import palaver as pv

EVIL = '<script>alert("x")</script>'


@pytest.fixture(scope="module")
def judged():
    train, test = pv.sample(60).split(test=0.3, random_state=0)
    tagger = pv.HiddenBackoffTagger(n_states=2).fit(train)
    tagger.judge(test)
    return tagger, test


def test_the_page_shows_confusion_errors_and_words_of_states(judged, tmp_path):
    tagger, test = judged
    page = pv.report(tagger, test, tmp_path / "page.html").read_text()
    assert 'id="tagging"' in page
    assert 'id="mistakes"' in page
    assert 'id="hidden-states"' in page
    assert 'id="labels-unused"' not in page
    for tag in tagger.tags_:
        assert tag in page


def test_texts_of_errors_are_escaped_and_left_out_of_anonymized_pages(judged, tmp_path):
    tagger, test = judged
    tagger.errors_ = tagger.errors_.with_columns(pl.lit(EVIL).alias("text"))
    page = pv.report(tagger, test, tmp_path / "page.html").read_text()
    assert EVIL not in page
    assert "&lt;script&gt;alert" in page
    hidden = pv.report(tagger, test, tmp_path / "hidden.html", anonymize=True).read_text()
    assert "alert(" not in hidden


def test_features_are_shown_escaped_and_left_out_of_anonymized_pages(tmp_path):
    corpus = pv.sample(30)
    texts = corpus.table["text"] + f" {EVIL} xylographer"
    table = corpus.table.with_columns(text=pl.when(pl.col("act") == "thanks").then(texts)
                                      .otherwise(pl.col("text")))  # fmt: skip
    corpus = pv.Corpus.from_polars(table)
    tagger = pv.CRFTagger().fit(corpus)
    page = pv.report(tagger, corpus, tmp_path / "page.html").read_text()
    section = page.partition('id="features"')[2].partition("</table>")[0]
    assert section.count("<tr>") == 1 + len(tagger.tags_)
    assert "*|xylo*" in section or "xylographer" in section
    assert "<script" not in section
    hidden = pv.report(tagger, corpus, tmp_path / "hidden.html", anonymize=True).read_text()
    assert 'id="features"' not in hidden


def test_other_models_have_no_such_section(tmp_path):
    corpus = pv.sample(20)
    model = pv.LDA(n_classes=3, n_sweeps=4).fit(corpus)
    page = pv.report(model, corpus, tmp_path / "page.html").read_text()
    assert 'id="tagging"' not in page
