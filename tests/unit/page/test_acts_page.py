"""The page about the model of acts: proposed names, how stable acts are, real sentences."""

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver.page.build import render
from palaver.page.findings import gather, rows_of
from palaver.page.sections import make_acts, positions_of


@pytest.fixture(scope="module")
def corpus():
    return pv.sample(60)


@pytest.fixture(scope="module")
def model(corpus):
    return pv.Acts(n_acts=6, n_sweeps=15, n_chains=3).fit(corpus, show_progress=False)


@pytest.fixture(scope="module")
def findings(model, corpus):
    return gather(model, corpus, predict_heldout=False)


def acts_of(findings, names=None):
    return make_acts(findings, names or {}, positions_of(findings))


def test_names_are_proposed_and_a_persons_name_wins(findings, model):
    acts = acts_of(findings, {2: "asks for help"})
    assert {act.number: act.name for act in acts} == {
        **dict(enumerate(model.act_names_)), 2: "asks for help"}  # fmt: skip
    assert {act.number for act in acts if act.proposed} == {0, 1, 3, 4, 5}
    assert {act.number for act in acts if act.named} == {2}


def test_names_of_seeds_are_no_proposals(corpus):
    seeds = {"thanks": ["thanks", "thank"]}
    guided = pv.Acts(n_acts=4, seed_words=seeds, n_sweeps=5, n_chains=2)
    guided.fit(corpus, show_progress=False)
    summary = guided.summary()
    assert summary.class_names[0] == "thanks"
    assert summary.proposed == {1, 2, 3}
    assert summary.is_guided


def test_the_page_says_which_names_are_proposals_and_how_stable_acts_are(findings):
    page = render(findings, {0: "asks"})
    acts = acts_of(findings, {0: "asks"})
    assert page.count("; the name is a proposal") == 5
    assert all(re.fullmatch(r"[0-3] of 3", act.found_by) for act in acts)
    assert page.count(" searches<span data-proposed") == 5
    assert "of the sentences)" in page
    assert "Each sentence is tinted by its act" in page
    assert "3 searches from different starting points were joined" in page
    assert "views-left-out" not in page


def test_words_have_the_act_of_their_sentence(findings, model, corpus):
    units = model.unit_acts(corpus)
    rank = np.empty(6, int)
    rank[findings.order] = np.arange(6)
    rows = rows_of(corpus, findings.shown)
    own = {m: set(acts) for m, acts in units.group_by("message").agg("act").iter_rows()}
    found = pl.DataFrame({"message": findings.marks.messages, "rank": findings.marks.ranks})
    assert found["rank"].min() >= 0, "unknown words are tinted, too"
    for message, ranks in found.group_by("message").agg(pl.col("rank").unique()).iter_rows():
        assert set(ranks) == {rank[act] for act in own[rows[message]]}


def test_sentences_and_examples_are_of_the_act(findings, model, corpus):
    texts = [" ".join(text.split()) for text in corpus.table["text"]]
    units = model.unit_acts(corpus)
    for act in acts_of(findings):
        mine = set(units.filter(pl.col("act") == act.number)["message"])
        for sentence in act.sentences:
            assert any(sentence.rstrip("…") in texts[row] for row in mine)
        assert mine.issuperset(findings.examples[act.rank])


def test_further_examples_are_of_the_act_though_it_says_always_the_same():
    texts = ["ok", "well i do not know what to say to that", "do you know what to do?"] * 40
    rows = [{"conversation": f"c{i // 6}", "id": str(i), "speaker": "ab"[i % 2],
             "text": text if text == "ok" else f"{text} {i}"}
            for i, text in enumerate(texts)]  # fmt: skip
    talk = pv.Corpus.from_polars(pl.DataFrame(rows))
    model = pv.Acts(n_acts=3, n_sweeps=10, n_chains=2).fit(talk, show_progress=False)
    found = gather(model, talk, predict_heldout=False)
    for rank, own in enumerate(found.examples):
        assert own
        assert (found.shares[own[1:], rank] >= 0.5 * found.shares[own[1:]].max(axis=1)).all()
    assert 1 in [len(own) for own in found.examples], "ok is always the same"


def test_words_of_acts_are_those_that_the_model_looks_at(model):
    telling = {w for w, t in zip(model.vocabulary_.words, model._telling_words(), strict=True) if t}
    assert len(telling) < len(model.vocabulary_)
    assert set(model.top_words(20, by="distinctiveness")["word"]) <= telling
    assert set(model.top_words(20)["word"]) <= telling


def test_shares_in_other_texts_count_sentences(model):
    other = pv.sample(20, random_state=5)
    found = gather(model, other, predict_heldout=False)
    assert (np.asarray(found.encoded.tokens) < 0).any()
    units = model.unit_acts(other)
    counts = np.zeros(6)
    posterior, _ = model._unit_posteriors(other)
    counts = posterior.sum(axis=0) / len(units)
    np.testing.assert_allclose(found.flow.class_shares, counts[found.order], atol=1e-6)


def test_what_follows_is_counted_by_messages_where_sentences_have_acts(findings, corpus):
    """The model's own rows lead from the last sentence of a message to the first of its reply."""
    assert findings.flow.observed
    replies = np.flatnonzero(corpus.parents >= 0)
    pairs = findings.shares[corpus.parents[replies]].T @ findings.shares[replies]
    expected = pairs / pairs.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(findings.flow.following[:-1], expected, atol=1e-3)
    assert "The model learned which sentence follows which" in render(findings, {})


def test_hidden_words_are_in_no_name_or_cue(findings):
    word = re.search(r"“(\w+)”", "".join("".join(a.cues) for a in acts_of(findings)))[1]
    hidden = acts_of(replace(findings, hidden=frozenset([word])))
    assert all(f"“{word}”" not in "".join(a.cues) for a in hidden)


def test_views_without_evidence_are_named():
    rows = [{"conversation": f"c{i // 4}", "id": str(i), "speaker": "ab"[i % 2],
             "text": ["do you know that", "yes i know", "well thank you so much", "ok bye"][i % 4]}
            for i in range(120)]  # fmt: skip
    bare = pv.Corpus.from_polars(pl.DataFrame(rows))
    model = pv.Acts(n_acts=3, n_sweeps=5, n_chains=2).fit(bare, show_progress=False)
    assert "question" in model.left_out_
    page = render(gather(model, bare, predict_heldout=False), {})
    said = re.search(r'id="views-left-out">(.*?)</p>', page)[1]
    assert all(view in said for view in model.left_out_)
    assert "Each message is tinted by its act." in page
