"""Pictures as files: plain colours that any renderer draws, and other formats."""

import io
import re

import numpy as np
import pytest

import palaver as pv
from palaver.draw.inline import with_plain_styles
from palaver.draw.palette import COLOURS
from palaver.draw.topics import topic_map
from palaver.questions.drawing import draw_changes, draw_network

Image = pytest.importorskip("PIL.Image")
cairosvg = pytest.importorskip("cairosvg")


@pytest.fixture(scope="module")
def graph():
    corpus = pv.sample(60)
    model = pv.BlockHMM(n_classes=4, n_sweeps=30).fit(corpus, show_progress=False)
    return model.plot_graph(corpus=corpus)


def colours_of(data):
    image = Image.open(io.BytesIO(data)).convert("RGB")
    counts = {f"#{r:02x}{g:02x}{b:02x}": n for n, (r, g, b) in image.getcolors(1 << 24)}
    return counts, image.width * image.height


def test_files_have_plain_colours(graph):
    assert "var(" not in graph
    assert "<style" not in graph
    assert graph.count("xmlns=") == 1
    assert all(colour in graph for colour in COLOURS[:4])


def test_another_renderer_draws_the_same_colours(graph):
    """CairoSVG knows no variables: what it could not read was black."""
    counts, n_pixels = colours_of(graph.encoded(".png"))
    assert all(counts.get(colour, 0) > 200 for colour in COLOURS[:4])
    assert counts["#ffffff"] > n_pixels / 2
    assert counts.get("#000000", 0) < n_pixels / 100


def test_pictures_are_saved_by_their_name(graph, tmp_path):
    assert graph.save(tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    assert graph.save(tmp_path / "x.pdf").read_bytes().startswith(b"%PDF")
    assert graph.save(tmp_path / "x.svg").read_text(encoding="utf-8").startswith("<svg")


def test_rules_of_more_classes_and_later_rules_win():
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 3">'
    svg = head + '<g class="a b"><path/></g></svg>'
    rules = (".a.b path{fill:var(--x)}", ".a path{fill:red;stroke-width:2px}", ".b{--x:#010203}",
             "path{stroke:blue}")  # fmt: skip
    style = "".join(rules)
    found = with_plain_styles(svg, style, "#ffffff")
    path = re.search(r"<path[^>]*>", found)[0]
    assert 'fill="#010203"' in path
    assert 'stroke-width="2"' in path
    assert 'stroke="blue"' in path
    assert '<rect width="4" height="3" fill="#ffffff"' in found


@pytest.fixture(scope="module")
def talk():
    corpus = pv.sample(60)
    model = pv.BlockHMM(n_classes=4, n_sweeps=30).fit(corpus, show_progress=False)
    return model, corpus


def test_charts_of_every_kind_are_drawn_in_colour(talk):
    model, corpus = talk
    asked = pv.ask(model, corpus)
    pictures = {
        "shares": model.plot_shares(corpus, "topic"),
        "time": model.plot_time(corpus, "quarter"),
        "words": model.plot_words(4),
        "trace": model.plot_trace(),
        "network": draw_network(asked),
        "changes": draw_changes(asked.compare_groups("topic")),
        "topics": topic_map(np.array([[0, 0], [1, 0], [0, 1.0]]), [0.5, 0.3, 0.2], ["a", "b", "c"]),
    }
    for name, picture in pictures.items():
        counts, n_pixels = colours_of(picture.standalone().encoded(".png"))
        assert max(counts.get(colour, 0) for colour in COLOURS) > 50, name
        assert counts["#ffffff"] > n_pixels / 4, name
        assert counts.get("#000000", 0) < n_pixels / 50, name


def test_arrows_carry_numbers_if_asked_for():
    corpus = pv.sample(60)
    model = pv.BlockHMM(n_classes=4, n_sweeps=30).fit(corpus, show_progress=False)
    plain, numbered = (model.plot_graph(1.2, corpus=corpus, numbers=each) for each in (False, True))
    assert "×" not in plain
    shown = re.findall(r'<g class="edge[^"]*"[^>]*data-effect="([\d.]+)"', plain)
    likely = sorted(float(effect) for effect in shown if float(effect) >= 1.2)
    written = sorted(float(number) for number in re.findall(r">([\d.]+)×<", numbered))
    assert len(written) == 2 * len(likely), "each on its halo"
    np.testing.assert_allclose(written[::2], likely, rtol=0.06)
    assert numbered.encoded(".png").startswith(b"\x89PNG")
