"""Given and rebuilt replies side by side in the reader."""

import numpy as np
import pytest

import palaver as pv


@pytest.fixture(scope="module")
def compared(corpus, model, tmp_path_factory):
    rebuilder = pv.ThreadRebuilder.default()
    path = tmp_path_factory.mktemp("rebuilt") / "report.html"
    return pv.report(model, corpus, path, rebuilder=rebuilder), rebuilder


def test_both_trees_are_shown_and_differences_marked(visit, compared, corpus):
    path, rebuilder = compared
    links = rebuilder.predict(corpus)
    differs = links["parent"].ne_missing(corpus.table["reply_to"]).to_numpy()
    counts = np.add.reduceat(differs, corpus.conversation_offsets[:-1])
    thread = int(counts.argmax())
    page = visit(path, f"#thread={thread}")
    button = page.locator("#thread .compare")
    assert f"{counts[thread]} of " in button.inner_text()
    assert not page.locator(".side-by-side").is_visible()
    button.click()
    trees = page.locator(".side-by-side .tree")
    assert trees.count() == 2
    length = int(np.diff(corpus.conversation_offsets)[thread])
    first = int(corpus.conversation_offsets[thread])
    for tree in trees.all():
        assert tree.locator("li").count() == length
        marked = {int(li.get_attribute("data-message")) for li in tree.locator(".differs").all()}
        assert marked == set(np.flatnonzero(differs[first : first + length]).tolist())
    assert "≠ answers" in trees.nth(1).inner_text() or "≠ starts" in trees.nth(1).inner_text()
    button.click()
    assert not page.locator(".side-by-side").is_visible()


def test_pages_without_rebuilt_replies_do_not_speak_of_them(visit, path):
    page = visit(path, "#thread=0")
    assert page.locator("#thread .message").count() > 0
    assert page.locator("#thread .compare").count() == 0
