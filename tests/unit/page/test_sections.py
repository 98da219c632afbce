"""Numbers and words of the page, on data where the answer is known."""

import html
import itertools
import json
import re
from dataclasses import replace
from datetime import datetime, timedelta
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import v_measure_score
from support.pages import mark_texts, small_model
from support.words import tokenize

import palaver as pv
from palaver.draw import graph
from palaver.draw.bars import percents, stacked_bar
from palaver.draw.layout import place, typical_places
from palaver.draw.palette import COLOURS, SHADES, colour_class, contrast, ink_on, letters
from palaver.encoding import encode
from palaver.errors import InputError, ParameterError
from palaver.models import MODELS, model_class
from palaver.models.summary import ModelSummary
from palaver.page.embed import choose
from palaver.page.findings import gather
from palaver.page.groups import _standout, make_groups, period
from palaver.page.names import read_names
from palaver.page.positions import by_position
from palaver.page.prediction import predict_words
from palaver.page.quality import make_quality
from palaver.page.sections import make_acts, positions_of
from palaver.page.sentences import typical_sentences
from palaver.page.text import name, to_json, visible
from palaver.page.walks import find_walks, make_walks


@pytest.fixture(scope="module")
def corpus():
    return pv.sample(60)


@pytest.fixture(scope="module")
def model(corpus):
    return small_model(corpus)


def summary(transitions, kind, rows, shares):
    empty = pl.DataFrame({"class": [], "rank": [], "word": [], "distinctiveness": []})
    return ModelSummary("x", {}, np.array(shares), empty, np.array(transitions), rows, kind, 0.0,
                        pl.DataFrame(), {}, {})  # fmt: skip


def test_effects_of_weights_by_hand():
    found = summary([[2.0, 0.0], [0.0, 0.0], [0.0, 3.0], [0.5, 0.0]], "weights",
                    ["start", "bias"], [0.25, 0.75])  # fmt: skip
    after_a = np.exp([2.5, 0]) / np.exp([2.5, 0]).sum()
    after_b = np.exp([0.5, 0]) / np.exp([0.5, 0]).sum()
    start = np.exp([0.5, 3]) / np.exp([0.5, 3]).sum()
    usual = 0.25 * after_a + 0.75 * after_b
    np.testing.assert_allclose(found.next_shares(), [after_a, after_b, start])
    np.testing.assert_allclose(found.effects()[:2], [after_a / usual, after_b / usual])
    np.testing.assert_allclose(found.effects()[2], start / [0.25, 0.75])


def test_effects_of_probabilities_and_of_no_transitions():
    found = summary([[0.9, 0.1], [0.3, 0.7], [0.5, 0.5]], "probabilities", ["start"], [0.5, 0.5])
    np.testing.assert_allclose(found.effects()[0], [0.9 / 0.6, 0.1 / 0.4])
    assert summary([[0.0]], "none", [], [1.0]).effects() is None
    without_start = summary([[0.9, 0.1], [0.3, 0.7]], "probabilities", [], [0.4, 0.6])
    np.testing.assert_allclose(without_start.next_shares()[-1], [0.4, 0.6])


def test_transitions_are_counted_where_the_model_has_none(corpus):
    lda = pv.LDA(n_classes=3, n_sweeps=20).fit(corpus)
    found = gather(lda, corpus, 1000, 10**6)
    assert found.flow.observed
    np.testing.assert_allclose(found.flow.following.sum(axis=1), 1)
    lengths = np.diff(found.encoded.message_offsets)
    first = (lengths[:, None] * found.shares)[corpus.parents < 0].sum(axis=0)
    np.testing.assert_allclose(found.flow.following[-1], first / first.sum(), atol=1e-3)


def test_ranks_are_by_share_and_findings_follow(corpus, model):
    found = gather(model, corpus, 1000, 10**6)
    assert (np.diff(found.flow.class_shares) <= 0).all()
    k = int(found.order[0])
    np.testing.assert_array_equal(
        found.shares[found.speaking, 0], model.transform(corpus)[found.speaking, k]
    )
    weights = model.transitions_
    expected = np.exp(weights[k] + weights[-1])
    np.testing.assert_allclose(
        found.flow.following[0], (expected / expected.sum())[found.order], rtol=1e-12
    )


def test_edges_are_strong_carry_traffic_and_the_slider_starts_where_some_show():
    shares = np.array([0.5, 0.3, 0.2])
    following = np.array([[0.1, 0.8, 0.1], [0.6, 0.2, 0.2], [0.3, 0.3, 0.4], [0.9, 0.05, 0.05]])
    effects = np.vstack((following[:3] / (shares @ following[:3]), following[3] / shares))
    edges = graph.find_edges(shares, following, effects)
    ends = {(edge.source, edge.target) for edge in edges if edge.effect > 1}
    assert ends == {(0, 1), (1, 0), (2, 2), (-1, 0)}
    assert all(edge.source >= 0 for edge in edges if edge.effect < 1)
    strongest = [edge.effect for edge in edges if edge.effect > 1]
    assert strongest == sorted(strongest)
    assert graph.STEPS[graph.first_step(edges, 3)] <= min(e.effect for e in edges if e.effect > 1)


@pytest.mark.parametrize("tall", [False, True])
@pytest.mark.parametrize("n", [1, 2, 5, 12, 30])
def test_layout_is_deterministic_inside_and_without_overlap(n, tall):
    generator = np.random.default_rng(3)
    shares = generator.dirichlet(np.ones(n))
    following = generator.dirichlet(np.ones(n), n + 1)
    effects = following / shares
    one = place(shares, effects, typical_places(following), tall=tall)
    other = place(shares, effects, typical_places(following), tall=tall)
    np.testing.assert_array_equal(one.x, other.x)
    assert ((one.x > 0) & (one.x < one.width) & (one.y > 0) & (one.y < one.height)).all()
    for i in range(n):
        for j in range(i):
            apart = np.hypot(one.x[i] - one.x[j], one.y[i] - one.y[j])
            assert apart > one.radius[i] + one.radius[j]


def test_flow_goes_from_what_starts_to_what_ends():
    following = np.array([[0.0, 1, 0], [0, 0, 1], [0, 0, 1], [1, 0, 0]])
    assert np.argsort(typical_places(following)).tolist() == [0, 1, 2]


def test_letters_can_be_read_on_every_colour():
    for colour in SHADES:
        assert contrast(ink_on(colour), colour) >= 4.5
    assert len(set(SHADES)) == 36
    assert colour_class(30) == "c30 again"
    assert [letters(i) for i in (0, 25, 26, 27, 701, 702)] == ["A", "Z", "AA", "AB", "ZZ", "AAA"]


# Machado, Oliveira & Fernandes (2009), severity 1: what people without red, green or blue
# cones see, as matrices on linear RGB.
CONES = {
    "red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998]],
    "green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
              [-0.011820, 0.042940, 0.968881]],
    "blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
             [0.004733, 0.691367, 0.303900]],
    "none": np.eye(3),
}  # fmt: skip


def lab(colour, cones):
    channels = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(cones) @ linear, 0, 1)
    to_xyz = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
                       [0.0193339, 0.1191920, 0.9503041]])  # fmt: skip
    ratio = to_xyz @ seen / [0.95047, 1.0, 1.08883]
    f = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("cones", CONES)
def test_colours_differ_for_every_kind_of_eyes(cones):
    """CIE76 distances: neighbours in a stacked bar differ clearly, all differ."""
    seen = [lab(colour, CONES[cones]) for colour in COLOURS]
    for one, other in itertools.pairwise(seen):
        assert np.linalg.norm(one - other) > 30
    for one, other in itertools.combinations(seen, 2):
        assert np.linalg.norm(one - other) > 12


def test_percents_sum_to_a_hundred():
    assert percents([1 / 3, 1 / 3, 1 / 3]) == [34, 33, 33]
    assert sum(percents(np.random.default_rng(0).dirichlet(np.ones(17)))) == 100
    assert percents([0, 0]) == [0, 0]
    assert "<b>" not in stacked_bar([1.0], ["<b>"])


def test_positions_are_counted_from_the_first_message():
    table = {"conversation": ["a"] * 10 + ["b"], "text": ["x"] * 11, "id": list("0123456789z")}
    corpus = pv.Corpus.from_polars(pl.DataFrame(table))
    shares = np.zeros((11, 2))
    shares[:, 0] = 1
    shares[0] = shares[10] = [0, 1]
    found = by_position(corpus, shares, np.ones(11, bool))
    assert found.labels == ["1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th", "later"]
    assert found.counts.tolist() == [2, 1, 1, 1, 1, 1, 1, 1, 2]
    assert found.shares[:, 1].tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0]


def test_typical_sentences_are_short_pure_and_different():
    texts = ["Thanks so much! The printer is broken again and again and again and again.",
             "Thanks so much! Does it work now?", "thanks so much @ann. Ok.",
             "Does it work now? Does it work at all?"]  # fmt: skip
    words = [tokenize(text) for text in texts]
    flat = [w for own in words for w in own]
    thanks, asks = {"thanks", "so", "much", "!"}, {"does", "it", "work", "now", "?", "at", "all"}
    ranks = [0 if w in thanks else 1 if w in asks else -1 for w in flat]
    marks = mark_texts(texts, ranks, [len(own) for own in words], flat)
    found = typical_sentences(texts, marks, 2)
    assert found[0] == ["Thanks so much!"]
    assert found[1][0] in ("Does it work now?", "Does it work at all?")


@pytest.mark.parametrize("code", ["axis(2, labels=FALSE)", "67 81 107 NaN NaN NaN ]",
                                  "FALSE FALSE FALSE", "run opt/gnome/bin now", "y ~ x by z",
                                  "use msvcrt.dll then", "x[a < b] or c",
                                  "FALSE FALSE TRUE TRUE", "c o m", "10,1,0.02,NA,NA,NA",
                                  "Seminar (Federal Institute", "I, I, I", "and it, it was",
                                  "19 Unknown NA NA", "Thomas Lumley Asst.", "BEGIN SIGNED MAIL",
                                  "add config.h there", "var n wt"])  # fmt: skip
def test_code_and_tables_stand_for_a_class_only_if_nothing_else_does(code):
    def found(texts):
        words = [tokenize(text) for text in texts]
        flat = [word for own in words for word in own]
        marks = mark_texts(texts, [0] * len(flat), [len(own) for own in words], flat)
        return typical_sentences(texts, marks, 1, n_sentences=1)[0]

    said = [
        "I think (as Ann does) so.",
        "+1 for version 1.2, and/or later!",
        "It's 10:30 right now.",
        "Does Ann know why?",
        "it's so good",
    ]
    for sentence in said:
        assert found([*[code] * 5, sentence]) == [sentence]
    assert found([code] * 2 + ["no"]) == ([] if "<" in code else [code])


def sentences_of(classes):
    """Return typical sentences of texts that are wholly of one class each."""
    texts = [text for own in classes for text in own]
    words = [tokenize(text) for text in texts]
    lengths = np.array([len(own) for own in words])
    own = np.repeat(np.arange(len(classes)), [len(own) for own in classes])
    flat = {word for part in words for word in part}
    marks = mark_texts(texts, np.repeat(own, lengths), lengths, flat)
    return typical_sentences(texts, marks, len(classes))


def test_words_that_another_class_has_more_of_do_not_name_a_class():
    """Who asks for help says thanks as well; what is thanks alone is another class's."""
    asks = ["Thanks for reading!", "Thanks for any help with my printer!", "Has anyone any help?"]
    found = sentences_of([asks * 3, ["Thanks for that!", "Thanks for the reading tip!"] * 6])
    assert "help" in found[0][0]
    assert "Thanks" in found[1][0]


def test_whole_sentences_come_before_lines_that_break_off():
    torn = ["you know they have to,", "and you know they have\nThat is it."]
    found = sentences_of([torn * 4 + ["You know that they do."], ["something else entirely"]])
    assert found[0][0] == "You know that they do."


def test_sample_of_threads_is_deterministic_whole_and_holds_what_is_quoted(corpus):
    one = choose(corpus, [7, 3], 40, 10**6)
    other = choose(corpus, [7, 3], 40, 10**6)
    np.testing.assert_array_equal(one.conversations, other.conversations)
    assert {7, 3} <= set(one.conversations.tolist())
    assert one.lengths.sum() <= 40
    lengths = np.diff(corpus.conversation_offsets)
    np.testing.assert_array_equal(one.lengths, lengths[one.conversations])
    everything = choose(corpus, [], 10**6, 10**9)
    assert len(everything.conversations) == corpus.n_conversations
    long = int(np.argmax(lengths))
    cut = choose(corpus, [long], 3, 10**6)
    assert (cut.conversations.tolist(), cut.lengths.tolist()) == ([long], [3])


def test_names_come_from_mappings_and_files_and_mistakes_are_explained(model, tmp_path):
    record = model.summary()
    assert read_names({2: " asks  for help "}, record) == {2: "asks for help"}
    largest = int(np.argmax(record.class_shares))
    assert read_names({"A": "the largest"}, record) == {largest: "the largest"}
    path = tmp_path / "names.json"
    path.write_text(json.dumps({"run": record.view_id, "names": {"0": "thanks"}}))
    assert read_names(path, record) == {0: "thanks"}
    path.write_text(json.dumps({"run": "another", "names": {"0": "thanks"}}))
    with pytest.raises(InputError, match="another run"):
        read_names(path, record)
    for content, message in [("[1]", "must be an object"), ("{", "is not JSON"),
                             ('{"9": "x"}', "there is no class '9'"),
                             ('{"0": ""}', "must be a non-empty text")]:  # fmt: skip
        path.write_text(content)
        with pytest.raises(InputError, match=message):
            read_names(path, record)
    with pytest.raises(InputError, match="cannot be read"):
        read_names(tmp_path / "gone.json", record)


def test_json_cannot_leave_its_script_element():
    text = to_json({"a": "</script><!-- & \u2028 \u2029"})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"a": "</script><!-- & \u2028 \u2029"}


def test_what_would_not_be_seen_is_marked():
    assert visible("a\u202eb\x00c\x07\nd") == "a␦b␀c␇\nd"
    assert visible("x" * 50, 10) == "x" * 10
    assert name("two\nlines " + "y" * 100, 20) == "two lines " + "y" * 9 + "…"


def test_page_is_the_same_each_time_and_without_foreign_addresses(corpus, model, tmp_path):
    one = pv.report(model, corpus, tmp_path / "one.html").read_text()
    other = pv.report(model, corpus, tmp_path / "other.html").read_text()
    assert one == other
    without_data = re.sub(r'<script type="application/json".*?</script>', "", one, flags=re.S)
    assert not re.search(r"(src|href|action)=[\"']?(https?:|//)", without_data)
    assert "default-src 'none'" in html.unescape(one)
    assert re.search(r'style="', without_data) is None


def test_anonymized_pages_name_nobody(corpus, model, tmp_path):
    page = pv.report(model, corpus, tmp_path / "r.html", anonymize=True).read_text().casefold()
    speakers = corpus.table["speaker"].unique().to_list()
    named = [name for name in speakers if len(name) > 5 and f"@{name.casefold()}" in page]
    assert named == []
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
    assert all(re.fullmatch(r"p\d+", speaker) for speaker in data["threads"]["speakers"])


def test_wrong_arguments_are_explained(corpus, model, tmp_path):
    with pytest.raises(ParameterError, match="takes a Corpus"):
        pv.report(model, encode(corpus), tmp_path / "r.html")
    with pytest.raises(ParameterError, match="max_messages"):
        pv.report(model, corpus, tmp_path / "r.html", max_messages=0)
    with pytest.raises(ParameterError, match="no messages"):
        pv.report(model, corpus.take([]), tmp_path / "r.html")
    assert not list(tmp_path.iterdir())


def test_names_that_the_model_knows_stand_unless_others_are_given(corpus, model):
    found = gather(model, corpus, 1000, 10**6)
    labels = ["asks", "tells", "thanks", "jokes"]
    found = replace(found, summary=replace(found.summary, class_names=dict(enumerate(labels))))
    acts = make_acts(found, {2: "says thanks"}, positions_of(found))
    assert {act.number: act.name for act in acts} == {
        0: "asks", 1: "tells", 2: "says thanks", 3: "jokes"}  # fmt: skip
    assert all(act.named for act in acts)


def test_tagger_has_a_page_with_its_labels_and_its_own_tables(corpus, tmp_path):
    tagger = pv.HiddenBackoffTagger(n_states=2).fit(corpus, "act")
    page = pv.report(tagger, corpus, tmp_path / "r.html").read_text()
    labels = corpus.table["act"].unique()
    assert page.count('<article class="card') == len(labels)
    assert all(f'dir="auto">{label}</h3>' in page for label in labels)
    assert 'id="hidden-states"' in page
    for part in ("other-texts", "found-by", "labels-unused"):
        assert f'id="{part}"' not in page


def test_groups_are_those_of_the_corpus_with_intervals(corpus, model):
    found = gather(model, corpus, 1000, 10**6)
    positions = positions_of(found)
    groups = make_groups(found, make_acts(found, {}, positions))
    assert [table["by"] for table in groups["tables"]] == ["speaker", "act", "acts", "topic"]
    acts = groups["tables"][1]
    row = next(row for row in acts["rows"] if row["name"] == "problem_report")
    chosen = (corpus.table["act"] == "problem_report").to_numpy() & found.speaking
    assert row["messages"] == chosen.sum()
    shares = np.array([value[0] for value in row["values"]])
    np.testing.assert_allclose(shares, found.shares[chosen].mean(axis=0), atol=6e-4)
    assert all(low <= share <= high for share, low, high in row["values"])
    best = row["stands_out"]
    assert best["low"] > acts["overall"][best["rank"]]
    assert groups["time"]["by"] == "month"
    assert len(groups["time"]["curves"]) == found.n_classes


@pytest.mark.parametrize(
    ("n_messages", "n_days", "found"),
    [(60, 4, "day"), (59, 4, None), (30, 2, None), (2000, 36, "day"), (2000, 60, "week"),
     (2000, 360, "month"), (500, 360, "month"), (400, 3650, "year"), (0, 1, None)],
)  # fmt: skip
def test_periods_are_the_finest_that_are_neither_too_many_nor_too_empty(n_messages, n_days, found):
    days = (np.arange(n_messages) * n_days // max(n_messages, 1)).tolist()
    times = pl.Series("time", [datetime(2023, 1, 2) + timedelta(days=day) for day in days],
                      pl.Datetime("us", "UTC"))  # fmt: skip
    corpus = SimpleNamespace(table=times.to_frame())
    assert period(SimpleNamespace(corpus=corpus, speaking=np.ones(n_messages, bool))) == found


def test_a_group_stands_out_only_where_it_is_sure_to_be_above_all():
    part = pl.DataFrame({"class": [0, 1, 2], "overall": [0.2, 0.2, 0.6], "share": [0.5, 0.3, 0.7],
                         "low": [0.1, 0.25, 0.65], "high": [0.9, 0.4, 0.8]})  # fmt: skip
    assert _standout(part, rest=False) == {"rank": 1, "share": 0.3, "low": 0.25, "high": 0.4}
    assert _standout(part, rest=True) is None
    assert _standout(part.filter(pl.col("class") != 1), rest=False) is None


def test_labels_against_classes_agree_with_scikit_learn(corpus, model):
    found = gather(model, corpus, 1000, 10**6)
    tables = {table["column"]: table for table in make_quality(found)["gold"]}
    gold = corpus.table["act"].to_numpy()[found.speaking]
    classes = found.shares[found.speaking].argmax(axis=1)
    assert tables["act"]["v_measure"] == pytest.approx(v_measure_score(gold, classes))
    others = [name for name in tables if name != "act"]
    assert list(tables) == ["act", *sorted(others, key=lambda name: -tables[name]["v_measure"])]
    counts = [row["count"] for row in tables["act"]["rows"]]
    assert counts == sorted(counts, reverse=True)
    for row in tables["act"]["rows"]:
        assert sum(percent for percent, _ in row["cells"]) == pytest.approx(100, abs=2)


def test_unigram_is_that_of_the_words_learned_from(corpus, model):
    train, test = corpus.split(0.3, random_state=1)
    fitted = small_model(train)
    encoded = encode(test, fitted.vocabulary_)
    found = predict_words(fitted, encoded)
    counts = fitted.vocabulary_.counts
    logs = np.log(counts / counts.sum())[encoded.tokens]
    assert found.n_words == encoded.n_tokens
    assert found.unigram == pytest.approx(np.exp(-logs.mean()))
    assert found.model == fitted.perplexity(encoded, n_particles=50)
    assert found.texts == "page"
    assert predict_words(fitted, encoded, learned=True).texts == "training"
    given = predict_words(fitted, encode(corpus, fitted.vocabulary_), test)
    assert given == replace(found, texts="test")
    assert predict_words(object(), encoded) is None


def test_at_most_forty_thousand_words_are_predicted():
    words = pl.Series(["one two three four five six seven eight nine ten"] * 100).str.join(" ")
    table = {"conversation": [f"c{i}" for i in range(60)], "text": [words.item()] * 60}
    corpus = pv.Corpus.from_polars(pl.DataFrame(table))
    model = pv.LDA(n_classes=1, n_sweeps=2, random_state=0).fit(corpus)
    found = predict_words(model, encode(corpus, model.vocabulary_))
    assert (found.n_words, found.n_conversations) == (40_000, 40)


@pytest.mark.parametrize("n_classes", [1, 2, 40])
def test_any_number_of_classes(n_classes, corpus, tmp_path):
    model = pv.LDA(n_classes=n_classes, n_sweeps=8).fit(corpus)
    page = pv.report(model, corpus, tmp_path / "r.html").read_text()
    assert page.count('<article class="card') == n_classes
    assert ('id="act-AN"' in page) == (n_classes == 40)
    assert ("largest of 40" in page) == (n_classes == 40)


def test_pages_of_the_barest_corpora(tmp_path):
    one = pv.Corpus.from_polars(pl.DataFrame({"text": ["thanks a lot, it works"]}))
    model = pv.M4(n_classes=2, n_sweeps=4).fit(one)
    page = pv.report(model, one, tmp_path / "one.html").read_text()
    assert "1 messages" not in page
    assert 'id="groups"' not in page
    silent = pv.Corpus.from_polars(pl.DataFrame({"text": ["", "xyzzy", "!"]}))
    assert pv.report(model, silent, tmp_path / "silent.html").is_file()
    chain = pl.DataFrame({"text": ["thanks", "it works"] * 300, "conversation": ["c"] * 600})
    deep = pv.Corpus.from_polars(chain).chained()
    page = pv.report(model, deep, tmp_path / "deep.html", max_messages=50).read_text()
    assert "contains 50 of 600 messages" in page


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_a_page(name, corpus, tmp_path):
    kind = model_class(name)
    model = kind(n_sweeps=12, random_state=1, **kind.sized(3))
    page = pv.report(model.fit(corpus), corpus, tmp_path / "r.html").read_text()
    assert page.count('<article class="card') == len(model.class_shares_)


class Walker:
    """A model whose documents take given walks."""

    def __init__(self, unit):
        self.unit, self.asked = unit, None

    def get_params(self):
        return {"unit": self.unit}

    def path(self, documents):
        self.asked = documents.n_documents
        rows = [(d, i + 1, k, w) for d in range(documents.n_documents)
                for i, (k, w) in enumerate([(2, 0.6), (0, 0.3), (2, 0.08), (1, 0.01)])]  # fmt: skip
        return pl.DataFrame(rows, ["document", "position", "topic", "weight"], orient="row")


@pytest.mark.parametrize("unit", ["message", "conversation"])
def test_walks_of_quoted_documents(corpus, unit):
    walker, rows = Walker(unit), list(range(0, 30, 2))
    encoded = encode(corpus)
    walks = find_walks(walker, corpus, encoded, np.array([1, 2, 0]), rows)
    inside = np.searchsorted(corpus.conversation_offsets, rows, side="right")
    assert walker.asked == (len(rows) if unit == "message" else len(set(inside.tolist())))
    assert len(walks) == min(6, walker.asked)
    assert walks[0].ranks == [1, 2, 1]  # the smallest part is left out
    assert walks[0].weights == [0.6, 0.3, 0.08]
    made = make_walks(walks, corpus, ["<one>", "two", "three"])
    picture = str(made[0]["picture"])
    assert picture.count("<circle") == 3
    assert picture.count("<polygon") == 2
    assert "B two 60%, then C three 30%, then B two 8%" in picture
    assert made[0]["ranks"] == [1, 2]
    assert find_walks(object(), corpus, encoded, np.array([1, 2, 0]), rows) == []


def test_the_page_of_walks_speaks_of_documents(corpus, tmp_path):
    model = pv.MarkovM3(3, start_sweeps=3, n_sweeps=3).fit(corpus)
    page = pv.report(model, corpus, tmp_path / "page.html").read_text("utf-8")
    assert 'id="walks"' in page
    assert "documents move on from A to B" in page
    assert "in replies to A" not in page
    assert '"whole":"document"' in page.replace(": ", ":")


def test_numbers_of_an_anonymized_page_are_those_of_the_texts_as_they_were(corpus):
    """The placeholder for strangers, "someone", is a word that this model knows."""
    table = corpus.table.with_row_index("row")
    text = (
        pl.when(pl.col("row") % 3 == 0)
        .then(pl.lit("@wanderer42 knows, ann@example.org too. ") + pl.col("text"))
        .when(pl.col("row") % 3 == 1)
        .then(pl.lit("Someone said that. ") + pl.col("text"))
        .otherwise("text")
    )
    spoken = pv.Corpus.from_polars(table.with_columns(text=text).drop("row"))
    model = small_model(spoken, n_sweeps=20)
    assert "someone" in model.vocabulary_.words
    plain = gather(model, spoken, 1000, 10**6, predict_heldout=False)
    hidden = gather(model, spoken, 1000, 10**6, predict_heldout=False, anonymize=True)
    np.testing.assert_array_equal(hidden.shares, plain.shares)
    read_again = gather(model, spoken.anonymized(), 1000, 10**6, predict_heldout=False)
    assert (read_again.shares != plain.shares).any()  # or this test could not fail
    found = []
    for findings in (plain, hidden):
        acts = make_acts(findings, {}, positions_of(findings))
        groups = make_groups(findings, acts)
        found.append(
            (
                [(act.share, act.start, act.before, act.after, act.curve) for act in acts],
                [[(e["share"], e["thread"], e["message"]) for e in act.examples] for act in acts],
                [[(r["messages"], r["values"]) for r in t["rows"]] for t in groups["tables"]],
                groups["time"],
                make_quality(findings)["gold"],
                make_quality(findings)["dropped"],
            )
        )
    for before, after in zip(*found, strict=True):
        assert before == after
    texts = hidden.corpus.table["text"].str.join(" ").item()
    assert "wanderer42" not in texts
    assert "ann@example.org" not in texts
    for act in make_acts(hidden, {}, positions_of(hidden)):
        assert not any("wanderer42" in example["text"] for example in act.examples)
        assert not any("wanderer42" in sentence for sentence in act.sentences)


def test_rare_answers_are_not_called_typical_and_sentences_say_both_shares():
    shares = np.array([0.6, 0.385, 0.015])
    following = np.array([[0.3, 0.68, 0.02], [0.9, 0.099, 0.001], [0.6, 0.39, 0.01], shares])
    effects = np.vstack((following[:3] / (shares @ following[:3]), np.ones(3)))
    assert effects[0, 2] > 1.2
    edges = graph.find_edges(shares, following, effects)
    assert (0, 2) not in {(edge.source, edge.target) for edge in edges if edge.effect > 1}
    edge = next(edge for edge in edges if (edge.source, edge.target) == (0, 1))
    assert edge.usual == pytest.approx(shares @ following[:3, 1])
    assert graph.least_share(100) == 0.005


def test_names_of_a_column_are_crossed_by_no_arrow():
    """On narrow screens arrows stay at the left of the circles, names at their right."""
    generator = np.random.default_rng(5)
    shares = generator.dirichlet(np.ones(9))
    following = generator.dirichlet(np.full(9, 0.3), 10)
    effects = np.vstack((following[:9] / (shares @ following[:9]), following[9] / shares))
    edges = graph.find_edges(shares, following, effects)
    names = [f"“{'word ' * 9}”"] * 9
    picture = graph.act_graph(shares, following, effects, names, names, edges, tall=True)
    width, _ = map(float, re.search(r'viewBox="0 0 (\S+) (\S+)"', picture).groups())
    labels = [float(x) for x in re.findall(r'<tspan x="([\d.]+)"', picture)]
    assert min(labels) < width / 2
    places = [
        float(number)
        for path in re.findall(r' d="([^"]+)"', picture)
        for number in re.findall(r"-?[\d.]+", path)[::2]
    ]
    assert len(edges) > 9
    assert min(places) >= 0
    assert max(places) < min(labels)


def test_tables_of_an_anonymized_page_hide_names_too(tmp_path):
    """Topics are shown in two places; both leave out words that no text has any more."""
    table = pv.sample(40).table.with_columns(
        text=pl.lit("@wanderer42 knows it. Best wishes. ") + pl.col("text")
    )
    corpus = pv.Corpus.from_polars(table)
    model = small_model(corpus, n_sweeps=10, n_chains=1, n_topics=2)
    assert "wanderer42" in model.vocabulary_.words
    topics = model.tables()["topics"].with_columns(words=pl.lit("wishes wanderer42"))
    model.tables = lambda: {"topics": topics, "pairs": pl.DataFrame({"of": [["wanderer42", "a"]]})}
    plain = pv.report(model, corpus, tmp_path / "plain.html").read_text()
    hidden = pv.report(model, corpus, tmp_path / "hidden.html", anonymize=True).read_text()
    assert plain.count("wishes wanderer42") >= 2
    assert "wanderer42, a" in plain
    assert "wanderer42" not in hidden
    assert "wishes" in hidden


@pytest.mark.parametrize(
    ("n_silent", "said"),
    [
        (0, "Every message has a known word."),
        (1, "1 message has no known word and is not"),
        (2, "2 messages have no known word and are not"),
    ],
)
def test_messages_without_known_words_are_counted_in_words(n_silent, said, tmp_path):
    texts = ["thanks a lot", "it works now", "is it broken?"] * 5 + [""] * n_silent
    corpus = pv.Corpus.from_polars(pl.DataFrame({"text": texts}))
    model = pv.LDA(n_classes=2, n_sweeps=4, random_state=0).fit(corpus)
    assert said in pv.report(model, corpus, tmp_path / "page.html").read_text()


@pytest.mark.parametrize("names", [{}, {"A": "asks for help"}])
def test_the_headline_reads_the_same_with_and_without_names(corpus, model, names, tmp_path):
    page = pv.report(model, corpus, tmp_path / "page.html", names=names).read_text()
    headline = re.search(r'<p class="headline">(.*?)</p>', page, re.S)[1]
    text = " ".join(html.unescape(re.sub(r"<[^>]*>", "", headline)).split())
    first = names.get("A", "“.+?”")
    assert re.fullmatch(
        rf"What people do most: A {first} \(\d+%\), B .+ \(\d+%\), and C .+ \(\d+%\)\.", text
    ), text


def test_a_page_of_one_day_has_one_date(tmp_path):
    table = pl.DataFrame({"text": ["it works now", "thanks a lot"] * 5, "time": [1707902606] * 10})
    corpus = pv.Corpus.from_polars(table)
    model = pv.LDA(n_classes=2, n_sweeps=4, random_state=0).fit(corpus)
    page = pv.report(model, corpus, tmp_path / "page.html").read_text()
    kicker = re.search(r'<p class="kicker">(.*?)</p>', page)[1]
    assert kicker.endswith("· 2024-02-14")


def test_guided_classes_are_not_said_to_be_found_without_help(corpus, tmp_path):
    seeds = {"thanks": ["thanks", "thank"], "asks": ["anyone", "help"]}
    model = pv.M4(n_classes=4, n_sweeps=4, seed_words=seeds, random_state=0).fit(corpus)
    page = pv.report(model, corpus, tmp_path / "page.html").read_text()
    assert "guided by the words or labels it was given" in page
    assert 'id="labels-unused"' not in page
