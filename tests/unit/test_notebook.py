"""What notebooks show: compact, escaped, and with a clear message if an extra is missing."""

import sys
import types
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.pages import small_model

import palaver as pv
from palaver.corpus.grouping import quiet_periods
from palaver.draw.lines import band_chart
from palaver.errors import ParameterError
from palaver.fit import progress


@pytest.fixture(scope="module")
def corpus():
    return pv.sample(60)


@pytest.fixture(scope="module")
def model(corpus):
    return small_model(corpus)


def test_corpus_and_model_show_compact_html(corpus, model):
    shown = corpus._repr_html_()
    assert "60" in shown
    assert corpus.table["speaker"][0] in shown
    assert len(shown) < 5000
    shown = model._repr_html_()
    assert shown.count("<tr>") == 5
    assert "R-hat" in shown
    assert "not fitted" in pv.M4(n_classes=3)._repr_html_()


def test_hostile_texts_are_escaped():
    table = pl.DataFrame({"text": ["<script>alert(1)</script>"], "<b>": ["x"], "speaker": ["<i>"]})
    shown = pv.Corpus.from_polars(table, source="<u>")._repr_html_()
    assert not any(tag in shown for tag in ("<script", "<b>x", "<i>", "<u>"))


def test_graph_is_svg_with_a_node_a_class_and_more_edges_for_a_lower_limit(model, tmp_path):
    picture = model.plot_graph(least=1.5)
    root = ElementTree.fromstring(picture)
    assert root.tag.endswith("svg")
    assert picture.count('class="node ') == 4
    assert picture._repr_svg_() == picture

    def shown(least):
        drawn = ElementTree.fromstring(model.plot_graph(least)).iter(
            "{http://www.w3.org/2000/svg}g"
        )
        kinds = [group.get("class").split() for group in drawn if group.get("data-effect")]
        return sum("hidden" not in kind for kind in kinds)

    assert shown(1.2) > shown(5.0)
    assert model.plot_graph(tall=True).save(tmp_path / "graph.svg").read_text().startswith("<svg")
    effects = model.summary().effects()
    strongest = np.sort(effects[:-1].ravel())[-1]
    assert f'data-effect="{strongest:.5g}"' in picture


def test_models_without_transitions_say_what_to_do(corpus):
    lda = pv.LDA(n_classes=2, n_sweeps=5).fit(corpus)
    with pytest.raises(ParameterError, match=r"no transitions.*palaver.report"):
        lda.plot_graph()
    with pytest.raises(ParameterError, match="least"):
        lda.plot_graph(least=0.5)


def test_charts_need_no_network(model, corpus):
    pictures = {
        "trace": model.plot_trace(),
        "words": model.plot_words(3),
        "shares": model.plot_shares(corpus, "topic", top=3),
        "time": model.plot_time(corpus, "quarter"),
    }
    for name, picture in pictures.items():
        root = ElementTree.fromstring(picture)
        assert root.get("aria-label"), name
        assert "var(" not in picture
        assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")
    count = {name: len(ElementTree.fromstring(p).findall(".//{*}polyline"))
             for name, p in pictures.items()}  # fmt: skip
    assert count["trace"] == model.trace_["chain"].n_unique()
    bars = ElementTree.fromstring(pictures["words"]).findall(".//{*}rect")
    assert len([bar for bar in bars if len(bar)]) == 12
    named = [text.text for text in ElementTree.fromstring(pictures["shares"]).findall("{*}text")]
    assert sum("(" in text for text in named) == 4  # three groups and the others
    assert "2024-Q1" in pictures["time"]
    with pytest.raises(ParameterError, match="plot_time: the messages have no dates"):
        model.plot_time(pv.Corpus.from_texts(["thanks"]))


def test_quiet_periods_are_hollow():
    months = ["2024-01", "2024-02", "2024-03"]
    values = np.array([0.2, 0.3, 0.1])
    loud = band_chart(values, None, None, months, 0, 0.3, label="x")
    quiet = band_chart(values, None, None, months, 0, 0.3, label="x", quiet=[2])
    assert loud.count('class="fill"') == 3
    assert quiet.count('class="fill"') == 2
    assert 'stroke-dasharray="3 3"' in quiet
    assert quiet_periods([100, 90, 110, 21]) == [3]
    assert quiet_periods([10, 9, 8]) == []


def test_a_report_is_a_link(model, corpus, tmp_path):
    page = pv.report(model, corpus, tmp_path / "a page.html")
    assert page.read_text("utf-8").startswith("<!doctype html>")
    assert f'href="{page.as_uri()}"' in page._repr_html_()


def test_texts_are_documents(model):
    texts = ["my printer is broken", "", "thanks a lot"]
    shares = model.transform(texts)
    assert shares.shape == (3, 4)
    corpus = pv.Corpus.from_texts(texts)
    for other in (corpus, np.array(texts), pl.Series(texts), pd.Series(texts)):
        np.testing.assert_array_equal(shares, model.transform(other))
    assert model.annotate(texts).table["class"].to_list()[0] == shares[0].argmax()
    assert pv.encode(texts, view="topics").n_messages == 3
    assert pv.exemplars(model, texts, 1).height
    assert pv.ask(model, texts).corpus.n_messages == 3
    kinds = (pv.LDA(2, n_sweeps=4), pv.Acts(n_sweeps=4, n_chains=2), pv.OnlineLDA(2, n_sweeps=2),
             pv.GaussianHMM(2, whiten=2, n_sweeps=4), pv.InfiniteHMM(3, n_sweeps=4))  # fmt: skip
    many = pv.sample(12).table["text"].to_list()
    for one in kinds:
        found = one.fit_transform(many)
        assert len(found) == len(many), type(one)
    with pytest.raises(ParameterError, match="takes a Corpus or a list of texts, got str"):
        model.transform("one text")
    with pytest.raises(ParameterError, match="from_texts: takes a list of strings"):
        pv.Corpus.from_texts("one text")
    talk = pv.Corpus.from_texts(["hi", "hello"], conversation=True)
    assert talk.parents.tolist() == [-1, 0]


def test_conversations_as_a_table(model):
    corpus = pv.sample(30)
    table = corpus.conversations
    assert table["conversation"].to_list() == list(dict.fromkeys(corpus.table["conversation"]))
    np.testing.assert_array_equal(table["messages"], np.diff(corpus.conversation_offsets))
    longest = int(table["messages"].arg_max())
    own = corpus.take([longest]).table
    row = table.row(longest, named=True)
    assert row["people"] == own["speaker"].n_unique()
    assert row["duration"] == own["time"].max() - own["time"].min()
    assert sum(one["messages"] for one in row["acts"]) == own.height
    assert 1 < row["depth"] <= own.height
    tagged = model.annotate(corpus).conversations
    assert {one["act"] for acts in tagged["acts"] for one in acts} <= {"0", "1", "2", "3"}
    assert "acts" not in pv.Corpus.from_texts(["hi"]).conversations.columns


class Display:
    """Stands in for IPython's display and its handle."""

    def __init__(self):
        self.drawn = []

    def display(self, shown, display_id):
        self.drawn.append(shown)
        return self

    def update(self, shown):
        self.drawn.append(shown)


def test_progress_in_notebooks_is_one_bar_that_is_gone_at_the_end(corpus, monkeypatch):
    display = Display()
    fake = types.ModuleType("IPython.display")
    fake.HTML, fake.display = str, display.display
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel="one")
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", fake)
    monkeypatch.setattr(progress, "_PAUSE", -1.0)
    pv.LDA(n_classes=2, n_sweeps=5).fit(corpus)
    first, *steps, last = display.drawn
    assert "compiling" in first
    assert len(steps) == 5
    assert all(f'value="{n}" max="5"' in step for n, step in enumerate(steps, 1))
    assert "log joint" in steps[0]
    assert last == ""
    display.drawn.clear()
    with progress.fold_progress("a < b", 2), progress.progress_listener(lambda share: None):
        pass
    assert "a &lt; b" in display.drawn[0]
    with progress.share_bar("reading", None, 2.0) as advance:
        for _ in range(3):
            advance(1.0)
    assert ['value="1"' in step for step in display.drawn[-4:]] == [True, False, True, False]


def test_no_bar_where_no_kernel_runs(corpus, monkeypatch, capfd):
    """IPython may be imported, by a library or a test, and nobody looks at a cell."""
    for shell in (None, types.SimpleNamespace()):
        ipython = types.ModuleType("IPython")
        ipython.get_ipython = lambda shell=shell: shell
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
        pv.LDA(n_classes=2, n_sweeps=2).fit(corpus)
    assert capfd.readouterr() == ("", "")
