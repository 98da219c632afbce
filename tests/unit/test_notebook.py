"""What notebooks show: compact, escaped, and with a clear message if an extra is missing."""

import sys
import types
import xml.etree.ElementTree as ElementTree

import numpy as np
import polars as pl
import pytest
from support.pages import small_model

import palaver as pv
from palaver.errors import MissingExtraError, ParameterError
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


def test_charts(model):
    pytest.importorskip("altair", reason="needs altair (extra: notebook)")
    trace = model.plot_trace().to_dict()
    assert len(trace["data"]["values"]) == model.trace_.height
    words = model.plot_words(3).to_dict()
    assert len(words["data"]["values"]) == 12


def test_charts_without_altair_say_what_to_install(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingExtraError, match=r"plot_trace needs altair: pip install"):
        model.plot_trace()
    with pytest.raises(MissingExtraError, match="pip install altair"):
        model.plot_words()


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
