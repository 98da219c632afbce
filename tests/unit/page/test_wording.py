"""The page speaks of acts, topics or kinds of words, depending on the model."""

from dataclasses import replace

import palaver as pv
from palaver.page.wording import wording_of


def summary(**changes):
    model = pv.LDA(n_classes=2, n_sweeps=2, random_state=0).fit(pv.sample(5), show_progress=False)
    return replace(model.summary(), **changes)


def test_words_follow_what_transitions_are():
    plain = summary()
    assert wording_of(replace(plain, transition_kind="weights")).noun == "act"
    assert wording_of(plain).noun == "topic"
    walks = replace(plain, transition_steps="document")
    assert (wording_of(walks).noun, wording_of(walks).whole) == ("topic", "document")
    assert wording_of(replace(walks, tags=["a", "b"])).noun == "act"
    assert wording_of(replace(plain, transition_steps="words")).whole == "sentence"


def test_a_page_about_words_does_not_speak_of_people(tmp_path):
    corpus = pv.sample(5)
    for unit, title in (
        ("word", "Which words are used in similar ways here"),
        ("message", "What people do here"),
    ):
        model = pv.InfiniteHMM(unit=unit, n_sweeps=4, first_states=3, random_state=0).fit(corpus)
        path = pv.report(model, corpus, tmp_path / f"{unit}.html")
        text = path.read_text("utf-8")
        assert f'<h1 id="title">{title}</h1>' in text
        assert ("what people do" in text.split("<script")[0]) is (unit == "message")
