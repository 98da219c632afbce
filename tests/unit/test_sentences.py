"""Sentence splitting: what ends a sentence and what does not."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import palaver as pv
from palaver.encoding.sentences import may_have_several, split_sentences

# A bar marks the end of a sentence.
CASES = [
    "Dr. Wu paid $3.50, e.g. for tea.| See www.x.org/a.b!| Ok?",
    "J. R. Smith of the U.S. Army met him.| He left at 5 p.m.| Then he slept.",
    "He lives in the U.S.| The others do not.",
    "it works.| thanks!| really?| yes...",
    '"Really?" he asked.| "Yes."| She left.',
    "See fig. 3 and no. 5.| He said no.| Then he left.",
    "Wait... what?| Hmm...| Maybe.",
    "Version 1.2.3 is out.| 5 people came.| It costs 3.",
    "I use etc. and so on.| We sell apples, pears etc.| They sell more.",
    "Call foo.bar().| It returns None.| Set x = 0.5; then a.b = 3.",
    "It was him and I.| We left.",
    "Read https://example.org/a.html?q=1.| Then write to me@example.org.| Bye!",
    "One sentence over two lines.| And another",
    "On Jan. 5 we met Prof. Lee vs. the others (cf. Lee et al. 2004).| Fine.",
    "She has a Ph.D. in botany.| Good.",
    "Is it?!| No!!!| (Really.)| Ok.",
    "他来了。|你呢？|好！",
    "Sie kam. |Über Nacht blieb sie.",
]


@pytest.mark.parametrize("case", CASES)
def test_cases(case):
    expected = [part.strip() for part in case.split("|")]
    assert split_sentences(case.replace("|", "")) == expected
    broken = case.replace("|", "").replace(" ", "\n", 1)
    assert [s.split() for s in split_sentences(broken)] == [s.split() for s in expected]


def test_lists_paragraphs_and_code():
    text = (
        "Steps:\n1. Open it.\n2. Close it. Then wait.\n  - a bullet\n* another\n(a) one\nb) two\n\n"
        "A heading\n\nCode:\n```python\nx = a.b(1. )\ny. Z\n```\nDone."
    )
    assert split_sentences(text) == [
        "Steps:", "1. Open it.", "2. Close it.", "Then wait.", "- a bullet", "* another",
        "(a) one", "b) two", "A heading", "Code:", "```python\nx = a.b(1. )\ny. Z\n```", "Done.",
    ]  # fmt: skip
    assert split_sentences("```\nnever closed. But\nkept") == ["```\nnever closed. But\nkept"]


def test_nothing_to_split():
    for text in ("", "  \n\n ", "...", "?! -- !"):
        assert split_sentences(text) == []


@given(st.text(max_size=80))
def test_no_word_is_lost(text):
    found = " ".join(split_sentences(text))
    letters = [c for c in text if c.isalnum()]
    assert [c for c in found if c.isalnum()] == letters


def test_long_texts_take_linear_time():
    text = " ".join(pv.sample(60).table["text"]) + " a.b" * 20_000 + " (" * 5000
    assert len(split_sentences(text)) > 100


@given(st.text(alphabet="aB1 .!?…\n\t\x1c\x85。！\"')*_`~", max_size=30))
def test_texts_that_are_surely_one_sentence_are(text):
    several = may_have_several(pl.Series([text]))[0]
    assert several or len(split_sentences(text)) <= 1
