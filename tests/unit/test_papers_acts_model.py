"""The experiment on acts: its corpora, its measures, and a page that says what its numbers say."""

import numpy as np
import polars as pl
import pytest

import palaver as pv
from benchmarks.papers import Options, acts, acts_data, acts_page
from benchmarks.papers.cells import Cells
from palaver import evaluate
from palaver.corpus.table import Corpus
from palaver.models.acts.names import inventory
from palaver.models.acts.views import VIEW_WEIGHTS


def measured(v, classes=5):
    return {"classes": classes, "V": v, "low": v - 0.01, "high": v + 0.01,
            "V without singletons": v, "VI": 2.0, "F1": 0.5, "purity": 0.5, "collocation": 0.5,
            "one-to-one": 0.4}  # fmt: skip


def rival(v):
    return {"seeds": [measured(v)], "seconds": 1.0}


@pytest.mark.parametrize(
    ("best", "said"), [(0.2, "Above every rival"), (0.305, "Within 0.01"), (0.4, "Below a rival")]
)
def test_the_page_says_who_is_ahead(best, said):
    own = {"seeds": [measured(0.3), measured(0.31)], "seconds": 2.0, "between": 0.8}
    results = {"swda/Acts/chosen": own, f"swda/{acts.KMEANS[0]}/chosen": rival(best),
               f"swda/{acts.KMEANS[1]}/chosen": rival(0.1)}  # fmt: skip
    text = acts_page.text(results, ["swda/M4/gold"])
    assert [s for s in ("Above every rival", "Within 0.01", "Below a rival") if s in text] == [said]
    assert f"{acts.KMEANS[0]} {best:.3f}" in text
    assert "swda/M4/gold." in text.split("Not computed yet")[1]


def test_a_rule_that_wins_is_named():
    own = {"seeds": [measured(0.3)], "seconds": 2.0, "between": 0.8}
    plain = {"facts": dict.fromkeys(("conversations", "messages", "labelled", "fitted",
                                     "supervised", "gold"), 9),
             acts.RULE: measured(0.45, 2), acts.ONE: measured(0.0, 1)}  # fmt: skip
    text = acts_page.text({"mrda/Acts/chosen": own, "mrda/plain": plain}, [])
    assert "mrda (0.450, Acts 0.300)" in text
    assert "Not computed" not in text


def test_choices_do_not_look_at_the_corpus_left_out():
    table = {"x": {"a": 0.9, "b": 0.1, "c": 0.1}, "y": {"a": 0.2, "b": 0.3, "c": 0.3}}
    found = acts_page.left_out_choices(table)
    assert found == {"a": ("y", 0.2), "b": ("x", 0.1), "c": ("x", 0.1)}


@pytest.mark.parametrize(("other", "said"), [(0.45, "that is below the 45.0"), (0.35, "above")])
def test_the_whole_of_switchboard_is_compared_with_the_other_page(other, said):
    whole = {"seeds": [measured(0.4)], "seconds": 9.0, "fitted": 1000}
    text = acts_page.text({"swda/Acts/whole": whole, acts.OTHER_PAGE: {"V1": other, "F1": 0.6}}, [])
    assert said in text


@pytest.mark.parametrize(("rival_weights", "said"), [(0.5, "is not the best here: *e*"),
                                                     (0.1, "has the highest mean")])  # fmt: skip
def test_the_page_says_whether_the_default_is_the_best_candidate(rival_weights, said):
    values = dict.fromkeys(acts.CANDIDATES, 0.2) | {"e": rival_weights, acts.DEFAULT: 0.3}
    results = {f"training/weights {name}/{corpus}": [value]
               for name, value in values.items() for corpus in acts_data.TRAINING}  # fmt: skip
    results |= {f"training/{name}/{corpus}": [0.4 if name == "without context" else 0.1]
                for name in acts.ABLATIONS for corpus in acts.ABLATED}  # fmt: skip
    text = acts_page.text(results, [])
    assert said in text
    assert "no lower: context." in text
    assert "higher without context on: swda (+0.100)" in text


def test_every_cell_has_a_name_and_key_of_its_own(tmp_path):
    cells = acts.cells(Options(tmp_path, "full", 1), Cells(tmp_path))
    assert len({cell.name for cell in cells}) == len({cell.key for cell in cells}) == len(cells)
    assert acts.CANDIDATES[acts.DEFAULT].items() <= VIEW_WEIGHTS.items()


def test_judging_leaves_out_messages_without_gold():
    table = pl.DataFrame({"conversation": list("aabbb"), "text": ["x"] * 5,
                          "act": ["S", "Q", None, "S", "Q"]})  # fmt: skip
    corpus = Corpus.from_polars(table)
    found = np.array([0, 1, 2, 0, 3])
    result = acts.judge(found, corpus)
    assert result["classes"] == 3
    assert result["V"] == pytest.approx(evaluate.v_measure([0, 1, 0, 3], list("SQSQ")))
    assert result["V without singletons"] == 1.0 > result["V"]
    assert acts.n_gold(corpus) == 2


def test_sentences_follow_the_sentence_before_or_the_last_of_the_message_answered():
    forum = pv.sample(5)
    corpus = acts_data.sentences(forum)
    numbers = forum.table["sentences"].list.len().to_list()
    assert corpus.n_messages == sum(numbers)
    last = np.cumsum(numbers) - 1
    first = last - np.array(numbers) + 1
    for message, parent in enumerate(forum.parents):
        expected = last[parent] if parent >= 0 else -1
        assert corpus.parents[first[message]] == expected
        for sentence in range(first[message] + 1, last[message] + 1):
            assert corpus.parents[sentence] == sentence - 1
    alone = acts_data.apart(corpus)
    assert alone.n_conversations == corpus.n_messages
    assert (alone.parents == -1).all()
    assert alone.table["text"].to_list() == corpus.table["text"].to_list()


def test_names_fit_by_the_majority_of_their_act():
    found = np.array([0, 0, 0, 1, 1, 2])
    gold = ["S", "S", "Q", "Q", None, "B"]
    names = ["statement “i am …”", "open question", "“you know …”"]
    result = acts.fitting_names(found, gold, names, acts.accepted()["mrda"])
    assert result["share"] == pytest.approx(4 / 5)
    assert result["named"] == pytest.approx(4 / 5)
    assert [act["fits"] for act in result["acts"]] == [True, True, False]
    assert acts.entry_of("yes 2") == "yes"
    assert acts.entry_of("“do you …”") == "“do you …”"


def test_every_name_of_the_inventory_is_judged():
    unjudged = set(inventory()) - set(acts.accepted()["mrda"])
    assert unjudged <= {"link or reference", "code or quote"}
    assert set(acts.accepted()["swda"]) == set(acts.accepted()["mrda"])


def test_the_page_shows_corpora_without_gold_and_all_calls():
    act = {"name": "question", "share": 0.25, "searches": "9 of 10", "cues": "question: yes | ?"}
    results = {
        "eye/r-help": {"acts": [act], "messages": 1200, "unit": "sentence"},
        "swda/Acts/all": {**measured(0.45), "seconds": 60.0, "messages": 200_000, "calls": 1155},
    }
    text = acts_page.text(results, [])
    assert "| question | 25% | 9 of 10 searches | `question: yes ¦ ?` |" in text
    assert "**4forums**" not in text
    assert "contain the training part**, that model (seed 0) has V 45.0 (44.0 to 46.0)" in text
