import gzip
import json
import math
from collections import Counter

import numpy as np
import pytest
from support.shared import shared_data

import palaver as pv
from palaver.errors import CorpusError, FormatError, NotFittedError, ParameterError
from palaver.language.discounts import FALLBACK, estimate_discounts

SENTENCES = [
    line.split()
    for line in (
        "the cat sat on the mat", "the dog sat on the log", "a cat and a dog", "the cat saw a dog",
        "a dog saw the cat on the mat", "so the dog ran", "the mat", "a log", "and so on", "so",
    )
]  # fmt: skip


def test_hand_worked_bigrams():
    """Interpolated Kneser-Ney on three sentences, worked out with pencil and paper.

    Bigrams: <s>a 3, ab 2, ac 1, b</s> 2, c</s> 1. Too few for modified discounts: 0.5, 1, 1.5.
    Continuation counts: a 1, b 1, c 1, </s> 2; five in all, discounts 0.5 (1) and 1 (2).
    Unigrams: words a, b, c, </s>, <unk>, so 1/5 each below; left (3 * 0.5 + 1) / 5 = 0.5;
    p(b) = 0.5/5 + 0.5/5 = 0.2, p(</s>) = 1/5 + 0.1 = 0.3, p(<unk>) = 0.1.
    After a: left (1 + 0.5)/3 = 0.5; p(b|a) = (2-1)/3 + 0.5 * 0.2, p(c|a) = 0.5/3 + 0.1.
    """
    model = pv.BackoffModel(order=2).fit([["a", "b"], ["a", "c"], ["a", "b"]])
    after_a = dict(zip(model.words_, model.distribution(["a"]), strict=True))
    assert after_a["b"] == pytest.approx(1 / 3 + 0.1)
    assert after_a["c"] == pytest.approx(0.5 / 3 + 0.1)
    assert after_a["</s>"] == pytest.approx(0.15)
    assert after_a["<unk>"] == pytest.approx(0.05)
    nowhere = dict(zip(model.words_, model.distribution(), strict=True))
    assert nowhere["b"] == pytest.approx(0.2)
    assert nowhere["</s>"] == pytest.approx(0.3)
    start = (3 - 1.5) / 3 + 0.5 * 0.2
    end = (2 - 1) / 2 + 0.5 * 0.3
    assert model.logprob(["a", "b"]) == pytest.approx(math.log(start * (1 / 3 + 0.1) * end))


def test_hand_worked_witten_bell():
    model = pv.BackoffModel(order=1, smoothing="witten-bell", end=False).fit([["a", "a", "b"]])
    assert model.distribution() == pytest.approx([2 / 5 / 3, 2 / 5 + 2 / 5 / 3, 1 / 5 + 2 / 5 / 3])


def test_discounts_of_modified_kneser_ney():
    counts = np.repeat([1, 2, 3, 4, 9], [100, 40, 20, 10, 7])
    y = 100 / 180
    expected = [1 - 2 * y * 0.4, 2 - 3 * y * 0.5, 3 - 4 * y * 0.5]
    np.testing.assert_allclose(estimate_discounts(counts, "modified-kneser-ney"), expected)
    np.testing.assert_allclose(estimate_discounts(counts, "kneser-ney"), y)


@pytest.mark.parametrize("counts", [[], [1, 1, 1], [1, 2, 3], [1, 2, 3, 3, 3, 3, 4], [7, 8]])
def test_degenerate_counts_of_counts_have_fixed_discounts(counts):
    found = estimate_discounts(np.array(counts, np.int64), "modified-kneser-ney")
    np.testing.assert_array_equal(found, FALLBACK)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("discount", ["modified-kneser-ney", "kneser-ney", "witten-bell"])
@pytest.mark.parametrize("interpolate", [True, False])
@pytest.mark.parametrize("cutoffs", [0, (0, 0, 1)])
def test_arpa_round_trip(order, discount, interpolate, cutoffs, tmp_path):
    model = pv.BackoffModel(
        order=order, smoothing=discount, interpolate=interpolate, cutoffs=cutoffs, min_count=2
    ).fit(SENTENCES)
    model.write_arpa(tmp_path / "model.arpa")
    again = pv.BackoffModel.read_arpa(tmp_path / "model.arpa")
    new = [*SENTENCES, ["the", "log", "ran"], ["zebra", "on", "the"], []]
    np.testing.assert_allclose(again.word_logprobs(new), model.word_logprobs(new), rtol=1e-7)
    again.write_arpa(tmp_path / "again.arpa")
    third = pv.BackoffModel.read_arpa(tmp_path / "again.arpa")
    np.testing.assert_allclose(third.word_logprobs(new), model.word_logprobs(new), rtol=1e-7)


@pytest.mark.parametrize("order", [2, 3])
def test_kenlm_scores_our_files_the_same(order, tmp_path):
    kenlm = pytest.importorskip("kenlm", reason="kenlm is in the bench extra")
    model = pv.BackoffModel(order=order).fit(SENTENCES)
    model.write_arpa(tmp_path / "model.arpa")
    peer = kenlm.Model(str(tmp_path / "model.arpa"))
    for sentence in [*SENTENCES, ["zebra", "on", "the", "mat"], ["mat", "mat", "so"]]:
        ours = model.logprob(sentence) / math.log(10)
        assert peer.score(" ".join(sentence)) == pytest.approx(ours, rel=1e-5)


ARPA = """
\\data\\
ngram 1=5
ngram 2=2

\\1-grams:
-1.0\t<unk>
-99\t<s>\t-0.30103
-0.60206\t</s>
-0.30103\ta\t-0.5
-0.69897\tb

\\2-grams:
-0.1\t<s> a
-0.2\ta b

\\end\\
"""


def test_reads_arpa_files_of_others(tmp_path):
    path = tmp_path / "peer.arpa"
    path.write_text(ARPA)
    model = pv.BackoffModel.read_arpa(path)
    # <s> a: listed; a b: listed; b </s>: b has no weight, so the unigram
    assert model.logprob(["a", "b"]) / math.log(10) == pytest.approx(-0.1 - 0.2 - 0.60206)
    # <s> b: weight of <s> and unigram; b x: the unknown word; then the end
    expected = -0.30103 - 0.69897 - 1.0 - 0.60206
    assert model.logprob(["b", "x"]) / math.log(10) == pytest.approx(expected)


def test_broken_arpa_files_say_where(tmp_path):
    path = tmp_path / "broken.arpa"
    path.write_text(ARPA.replace("-0.2\ta b", "-0.2\ta"))
    with pytest.raises(FormatError, match="line 15: expected a probability, 2 words"):
        pv.BackoffModel.read_arpa(path)
    path.write_text(ARPA.replace("-0.2\ta b", "-0.2\ta zebra"))
    with pytest.raises(FormatError, match="'zebra' occurs in an n-gram"):
        pv.BackoffModel.read_arpa(path)
    path.write_text("hello")
    with pytest.raises(FormatError, match="no n-grams"):
        pv.BackoffModel.read_arpa(path)


def test_a_factor_that_tells_the_word_lowers_perplexity():
    generator = np.random.default_rng(5)
    words = [generator.choice(["yes", "no", "well"], 6).tolist() for _ in range(200)]
    tells = [[word[0] if generator.random() < 0.9 else "?" for word in row] for row in words]
    noise = [generator.choice(["x", "y"], 6).tolist() for _ in words]

    def perplexity(values):
        model = pv.BackoffModel(order=2, factors=["hint"], graph="word>hint", end=False)
        model.fit(words[:150], {"hint": values[:150]})
        return model.perplexity(words[150:], {"hint": values[150:]})

    plain = pv.BackoffModel(order=2, end=False).fit(words[:150]).perplexity(words[150:])
    assert perplexity(tells) < 0.7 * plain
    assert perplexity(noise) > 0.9 * plain


def test_factors_that_do_not_exist_are_passed_over():
    model = pv.BackoffModel(order=1, factors=["tag"], end=False)
    model.fit([["a", "b"], ["a"]], {"tag": [["x", None], ["x"]]})
    np.testing.assert_array_equal(
        model.distribution(factors={"tag": "never"}), model.distribution()
    )
    assert not np.allclose(model.distribution(factors={"tag": "x"}), model.distribution())


def test_unknown_words_and_the_end():
    model = pv.BackoffModel(order=2, min_count=3, end=False).fit(SENTENCES)
    assert "ran" not in model.words_
    assert "</s>" not in model.words_
    assert model.logprob(["ran"]) == model.logprob(["zebra"])
    assert model.logprob([]) == 0
    assert pv.BackoffModel(order=2).fit(SENTENCES).logprob([]) < 0


def test_mistakes_are_explained():
    with pytest.raises(ParameterError, match="order must be a whole number"):
        pv.BackoffModel(order=0).fit(SENTENCES)
    with pytest.raises(ParameterError, match=r"graph must name each of word, tag once"):
        pv.BackoffModel(order=2, factors=["tag"], graph="tag").fit(SENTENCES)
    with pytest.raises(ParameterError, match="values of the factor 'tag' are missing"):
        pv.BackoffModel(order=2, factors=["tag"]).fit(SENTENCES)
    with pytest.raises(ParameterError, match="has 1 sentences, but the words have 10"):
        pv.BackoffModel(order=2, factors=["tag"]).fit(SENTENCES, {"tag": [["x"]]})
    with pytest.raises(ParameterError, match="not one per word"):
        pv.BackoffModel(order=1, factors=["tag"], end=False).fit([["a", "b"]], {"tag": [["x"]]})
    with pytest.raises(ParameterError, match="cutoffs"):
        pv.BackoffModel(cutoffs=-1).fit(SENTENCES)
    with pytest.raises(ParameterError, match="weights"):
        pv.BackoffModel(path_weights={"tag": 1}).fit(SENTENCES)
    with pytest.raises(ParameterError, match="distinct names"):
        pv.BackoffModel(order=2, factors=["word"]).fit(SENTENCES)
    with pytest.raises(CorpusError, match="no words"):
        pv.BackoffModel().fit([[]])
    with pytest.raises(NotFittedError):
        pv.BackoffModel().logprob(["a"])
    with pytest.raises(ParameterError, match="plain n-grams"):
        pv.BackoffModel(order=1, factors=["t"]).fit([["a"]], {"t": [["x"]]}).write_arpa("x")


@pytest.fixture(scope="module")
def meetings():
    with gzip.open(shared_data("mrda/mrda.jsonl.gz")) as stream:
        rows = [json.loads(line) for line, _ in zip(stream, range(8000), strict=False)]
    rows = [row for row in rows if row["act"]]
    return [row["text"].split() for row in rows], [row["act"] for row in rows]


@pytest.mark.parametrize(
    ("graph", "combine", "interpolate"),
    [
        ("tag>word", "mean", True),
        ("word>tag", "mean", False),
        ("tag+word", "mean", True),
        ("tag+word", "count-weighted", False),
        ("tag+word", "max", True),
        ("tag+word", "product", False),
    ],
)
def test_sums_to_one_in_every_context_of_real_meetings(meetings, graph, combine, interpolate):
    sentences, acts = meetings
    if combine in ("max", "product"):
        sentences, acts = sentences[:1000], acts[:1000]
    tags = [[act] * len(words) for words, act in zip(sentences, acts, strict=True)]
    model = pv.BackoffModel(order=2, factors=["tag"], graph=graph, combine=combine,
                            interpolate=interpolate, min_count=2)  # fmt: skip
    model.fit(sentences, {"tag": tags})
    tables = model._tables
    kept = tables.nodes[0].contexts.columns()
    seen = np.stack(kept, axis=1)
    generator = np.random.default_rng(0)
    random = np.stack([generator.integers(-1, size, 200) for size in tables.sizes], axis=1)
    for context in np.concatenate([seen, random]).tolist():
        assert abs(tables.row(context).sum() - 1) < 1e-9


def test_memory_is_a_small_multiple_of_the_number_of_ngrams(meetings):
    sentences, _ = meetings
    model = pv.BackoffModel(order=3).fit(sentences)
    tables = model._tables
    n_bytes = sum(array.nbytes for array in tables.arrays().values())
    ngrams = sum(
        len(Counter(zip(*(padded[i:] for i in range(n)), strict=False)))
        for n in (1, 2, 3)
        for padded in [[w for s in sentences for w in ["<s>", *s, "</s>"]]]
    )
    assert n_bytes < 48 * ngrams
