"""Panels: every number where it belongs, words escaped, gaps left out."""

from xml.etree import ElementTree

import numpy as np
import pytest

from palaver.draw.panels import Panel, panel_chart


def parts(picture, name):
    return ElementTree.fromstring(picture).findall(f".//{name}")


def test_values_are_drawn_to_scale_with_their_intervals():
    panel = Panel("loss", [3.0, 1.0, 2.0], [2.5, 0.0, 1.5], [4.0, 1.5, 2.5])
    picture = panel_chart([panel], [5, 10, 20], axis="classes", marked=10)
    circles = parts(picture, "circle")
    x, y = (np.array([float(c.get(key)) for c in circles]) for key in ("cx", "cy"))
    assert (x[2] - x[1]) / (x[1] - x[0]) == pytest.approx(2, abs=0.01)
    assert (y[1] - y[0]) / (y[1] - y[2]) == pytest.approx(2, abs=0.01)
    assert [c.get("r") for c in circles] == ["3.2", "6", "3.2"]
    bars = [line for line in parts(picture, "line") if line.get("class") == "line"]
    assert len(bars) == 3
    assert float(bars[1].get("y1")) == pytest.approx(y.max() + (y[1] - y[2]), abs=0.1)


def test_words_are_escaped_and_gaps_left_out():
    panels = [Panel("<b>&", [1.0, np.nan, None]), Panel("flat", [2.0, 2.0, 2.0])]
    picture = panel_chart(panels, [1, 2, 3], axis='"x"')
    assert "<b>" not in picture
    assert len(parts(picture, "circle")) == 4
    assert "nan" not in picture
    single = panel_chart([Panel("one", [7.0])], [4], axis="classes")
    assert len(parts(single, "circle")) == 1
    assert "nan" not in panel_chart([Panel("none", [None])], [4], axis="classes")
