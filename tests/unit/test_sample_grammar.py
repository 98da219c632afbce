"""The grammar behind the built-in synthetic help forum."""

import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

from palaver import rng
from palaver.corpus.sample import SCHEMA, generate_table, material, sample
from palaver.corpus.sample.cast import CAST
from palaver.corpus.sample.plot import ACTS, MOVES, OPENINGS, PULL, STALE
from palaver.corpus.sample.text import Dice, Writer, fill, polish, roughen, slots_in
from palaver.corpus.sample.threads import TOPICS
from palaver.corpus.sample.topics import Remedy
from palaver.errors import ParameterError


@pytest.fixture(scope="module")
def forum():
    return generate_table()


@pytest.fixture(scope="module")
def sentences(forum):
    return forum.explode("sentences", "sentence_acts")


@pytest.fixture
def dice():
    return Dice(rng.generator(0, "test"))


def roots(forum):
    return forum.filter(pl.col("reply_to").is_null())


def test_same_seed_same_table(forum):
    assert forum.equals(generate_table())


def test_seeds_differ():
    assert (
        generate_table(20, seed=1)["text"].to_list() != generate_table(20, seed=2)["text"].to_list()
    )


def test_order_of_sets_does_not_matter():
    code = "from palaver.corpus.sample import generate_table; print(*generate_table(30)['text'])"
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1] != b""


def test_columns(forum):
    assert forum.schema == SCHEMA
    assert forum.drop("reply_to").null_count().sum_horizontal().item() == 0


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_sizes(seed):
    table = generate_table(seed=seed)
    lengths = table.group_by("conversation").len()["len"]
    assert len(lengths) == 400
    assert 1800 <= table.height <= 2300
    assert 15 <= (lengths == 1).sum() <= 60
    assert (lengths >= 15).sum() >= 5
    assert table["sentences"].list.len().sum() > 3800


@pytest.mark.parametrize("n_threads", [0, 1, 7])
def test_small_forums(n_threads):
    table = generate_table(n_threads)
    assert table.schema == SCHEMA
    assert table["conversation"].n_unique() == n_threads


def test_ids_of_many_threads_sort_like_numbers():
    table = generate_table(1001)
    assert table["conversation"].is_sorted()
    assert table["conversation"][0] == "t0001"


@pytest.mark.parametrize("wrong", [{"n_threads": -1}, {"seed": -1}, {"n_threads": 2.5}])
def test_wrong_parameters(wrong):
    with pytest.raises(ParameterError, match="sample"):
        generate_table(**wrong)


def test_ids_are_unique_and_threads_adjacent(forum):
    assert forum["id"].is_unique().all()
    assert forum["conversation"].is_sorted()
    assert (forum["id"].str.split(".").list.first() == forum["conversation"]).all()


def test_replies_follow_their_parents(forum):
    row = {name: number for number, name in enumerate(forum["id"])}
    replies = forum.with_row_index("row").filter(pl.col("reply_to").is_not_null())
    parents = replies["reply_to"].replace_strict(row)
    assert (parents < replies["row"]).all()
    assert (forum["conversation"].gather(parents) == replies["conversation"]).all()
    assert (forum["time"].gather(parents) < replies["time"]).all()


def test_each_thread_starts_with_one_problem(forum):
    starts = roots(forum)
    assert starts.height == 400
    assert starts["conversation"].n_unique() == 400
    assert (starts["act"] == "problem_report").all()
    assert forum.filter(pl.col("act") == "problem_report").height == 400


def test_trees_branch(forum):
    answers = forum.drop_nulls("reply_to").group_by("reply_to").len()["len"]
    depth = {}
    for name, parent in forum.select("id", "reply_to").iter_rows():
        depth[name] = depth[parent] + 1 if parent else 0
    assert (answers > 1).sum() > 200
    assert max(depth.values()) >= 8


def test_times(forum):
    assert forum.select(pl.col("time").is_sorted().over("conversation")).to_series().all()
    starts = roots(forum)["time"]
    assert 350 < (starts.max() - starts.min()).days < 366
    assert starts.dt.hour().n_unique() == 24


def test_speakers(forum):
    role = {person.handle: person.role for person in CAST}
    assert 60 <= len(role) <= 100
    assert set(forum["speaker"]) <= role.keys()
    answers = forum.filter(pl.col("act").is_in(["instruction", "link_answer"]))["speaker"]
    by_role = Counter(role[speaker] for speaker in answers)
    assert by_role["expert"] > by_role["regular"] > by_role["moderator"] > 0
    assert by_role["newcomer"] == 0


def test_nobody_answers_the_same_message_twice(forum):
    replies = forum.drop_nulls("reply_to")
    assert not replies.select("reply_to", "speaker").is_duplicated().any()


def test_sentences_make_up_the_text(forum):
    assert (forum["sentences"].list.join(" ") == forum["text"]).all()
    assert (forum["sentences"].list.len() == forum["sentence_acts"].list.len()).all()
    assert forum["sentences"].list.len().min() >= 1


def test_message_acts_follow_from_sentence_acts(forum):
    for act, acts, sentence_acts in forum.select("act", "acts", "sentence_acts").iter_rows():
        assert acts == list(dict.fromkeys(sentence_acts))
        assert act == min(acts, key=ACTS.index)


@pytest.mark.parametrize("act", ACTS)
def test_every_act_occurs_and_is_spread_over_topics(sentences, act):
    found = sentences.filter(pl.col("sentence_acts") == act)
    assert found.height >= 30
    assert found["topic"].n_unique() == len(TOPICS)


def test_several_acts_in_one_message_are_common(forum):
    share = (forum["acts"].list.len() >= 2).mean()
    assert 0.4 <= share <= 0.8


def test_topics(forum):
    shares = Counter(roots(forum)["topic"])
    assert shares.keys() == TOPICS.keys()
    assert min(shares.values()) >= 10
    assert max(shares.values()) <= 100
    assert (forum.group_by("conversation").agg(pl.col("topic").n_unique())["topic"] == 1).all()


def test_few_sentences_repeat(sentences):
    texts = [text for text in sentences["sentences"] if len(text.split()) > 4]
    count = Counter(texts)
    assert sum(count[text] > 1 for text in texts) / len(texts) < 0.12


@pytest.mark.parametrize(
    "blemish",
    [
        r"[{}\[\]|]",  # an unfilled slot or choice
        r"  | [,.?]|[,:?!]\.",  # stray spaces and stops
        r"\b[Aa] [aeio](?!ne\b)",
        r"\b(?i:the the|a a|to to|my my|is is|and and)\b",
        r"\w/\w+/\w",  # the three forms of a verb, outside web addresses
    ],
)
def test_sentences_are_clean(sentences, blemish):
    plain = sentences.filter(~pl.col("sentences").str.contains("https://"))["sentences"]
    assert [text for text in plain if re.search(blemish, text)] == []
    assert (sentences["sentences"].str.strip_chars() == sentences["sentences"]).all()


def test_web_addresses_are_reserved_ones(forum):
    domains = set(forum["text"].str.extract_all(r"https?://[^/\s]+").explode().drop_nulls())
    assert domains
    assert all(re.fullmatch(r"https://\w+\.example\.(com|org)", domain) for domain in domains)


def test_verdicts_answer_advice(forum):
    acts = dict(forum.select("id", "acts").iter_rows())
    parent = dict(forum.select("id", "reply_to").iter_rows())
    for name in forum.filter(pl.col("act") == "failed")["id"]:
        earlier, seen = parent[name], set()
        while earlier:
            seen |= set(acts[earlier])
            earlier = parent[earlier]
        assert {"instruction", "link_answer"} & seen


def test_only_answers_to_questions_clarify(forum):
    acts = dict(forum.select("id", "acts").iter_rows())
    clarified = forum.filter(pl.col("act") == "clarification")
    assert all("clarifying_question" in acts[parent] for parent in clarified["reply_to"])


def test_acts_can_be_learned_from_words_but_not_by_rote(sentences):
    odd = sentences["conversation"].str.slice(1).cast(pl.Int64) % 2 == 1
    train, test = sentences.filter(odd), sentences.filter(~odd)
    words = CountVectorizer(token_pattern=r"\w+|[?!]")
    model = MultinomialNB(alpha=0.3).fit(
        words.fit_transform(train["sentences"].to_list()), train["sentence_acts"].to_list()
    )
    accuracy = model.score(
        words.transform(test["sentences"].to_list()), test["sentence_acts"].to_list()
    )
    assert 0.75 < accuracy < 0.995


def test_the_plot_uses_known_acts_and_people():
    assert set(MOVES) == set(PULL) == set(ACTS)
    moves = [*OPENINGS, *STALE, *(move for after in MOVES.values() for move in after)]
    assert set().union(*(move.acts for move in moves)) == set(ACTS)
    assert all(move.weight > 0 for move in moves)
    assert set(material.phrases()) == set(ACTS)


def strings(value):
    """Return all text in the values of a file of phrases."""
    if isinstance(value, str):
        return value.splitlines()
    parts = value.values() if isinstance(value, dict) else value
    return [] if isinstance(value, bool) else [text for part in parts for text in strings(part)]


FILES = sorted(Path(material.__file__).parent.rglob("*.toml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_phrases_are_well_formed(file):
    found = strings(tomllib.loads(file.read_text(encoding="utf-8")))
    assert len(found) > 20
    for text in found:
        assert not re.search(r"^ |  | $|\\", text), text
        plain = re.sub(r"\{\w+\}", "", text)
        for _ in range(plain.count("[")):  # from the innermost choice outwards
            plain = re.sub(r"\[[^\[\]]*\]", "", plain)
        assert not re.search(r"[{}\[\]|]", plain), text


def test_every_topic_has_a_file():
    files = {file.stem for file in FILES if file.parent.name == "topics"}
    assert files == TOPICS.keys()
    assert all(material.topic(name).name == name for name in TOPICS)


def test_every_pool_of_phrases_is_for_a_mood_or_a_situation():
    moods = {person.mood for person in CAST}
    situations = {"more", "ask", "newcomer", "bump", "alone", "asker", "helper", "ahead", "back",
                  "glad", "stale"}  # fmt: skip
    for act, pools in material.phrases().items():
        assert "usual" in pools, act
        assert pools.keys() <= {"usual"} | moods | situations, act


def test_every_slot_of_a_phrase_can_be_filled_somewhere(monkeypatch):
    known = set()
    sentence = Writer.sentence

    def watched(self, pool, slots, used):
        known.update(slots)
        return sentence(self, pool, slots, used)

    monkeypatch.setattr(Writer, "sentence", watched)
    generate_table(200)
    for act, pools in material.phrases().items():
        for text in (text for pool in pools.values() for text in pool):
            assert slots_in(text) <= known, f"{act}: {text}"


def test_fill_draws_choices_and_slots_all_the_way_down(dice):
    slots = {"pet": ("[tabby|black] {animal}",), "animal": ("cat",)}
    drawn = {fill("[my|the [old|young]] {pet} and {Pet}", slots, dice) for _ in range(200)}
    assert "my tabby cat and Black cat" in drawn
    assert "the old black cat and Tabby cat" in drawn
    assert len(drawn) == 12


@pytest.mark.parametrize(
    ("rough", "sentence"),
    [
        ("a old printer  and a USB cable", "An old printer and a USB cable."),
        ("which one is it ?", "Which one is it?"),
        ("see https://kb.example.com/1", "See https://kb.example.com/1"),
        ("https://kb.example.com/1", "https://kb.example.com/1"),
        ("it's a one-way street ;)", "It's a one-way street ;)"),
    ],
)
def test_polish(rough, sentence):
    assert polish(rough) == sentence


def test_slips_leave_codes_and_addresses_alone(dice):
    text = "Please see https://kb.example.com/reset about E-204 on the BrightJet."
    rough = {roughen(text, dice) for _ in range(300)}
    assert len(rough) >= 4
    assert all("https://kb.example.com/reset" in slip for slip in rough)
    assert all("E-204" in slip and "BrightJet" in slip for slip in rough)


@pytest.mark.parametrize("phrase", ["one [two|three", "[one|[two]"])
def test_an_open_bracket_is_an_error(phrase, dice):
    with pytest.raises(ValueError, match="not closed"):
        fill(phrase, {}, dice)


def test_writer_passes_over_phrases_it_cannot_fill(dice):
    pool = ("thanks {who}", "thanks for the {thing}")
    used = set()
    assert Writer(dice).sentence(pool, {"thing": ("tip",)}, used) == "Thanks for the tip."
    assert used == {"thanks for the {thing}"}


def test_forms_of_a_remedy():
    remedy = Remedy(
        "take/took/taking it out and wipe/wiped/wiping it @ Setup > Care", "it is dirty"
    )
    assert remedy.slots == {
        "remedy": ("take it out and wipe it",),
        "remedied": ("took it out and wiped it",),
        "remedying": ("taking it out and wiping it",),
        "menu": ("Setup > Care",),
        "cause": ("it is dirty",),
        "harmless": ("quite harmless",),
    }


def test_nobody_promises_that_drastic_remedies_keep_everything():
    assert "harmless" not in Remedy("format/formatted/formatting the drive").slots


def test_every_remedy_has_its_three_forms():
    for topic in map(material.topic, TOPICS):
        for remedy in (
            *topic.remedies,
            *(r for problem in topic.problems for r in problem.remedies),
        ):
            assert len({*remedy.slots["remedy"], *remedy.slots["remedying"]}) == 2
            assert "/" not in remedy.slots["remedied"][0]


def test_questions_are_about_problems_of_their_topic():
    for topic in map(material.topic, TOPICS):
        names = {problem.name for problem in topic.problems}
        assert all(names >= set(question.about) for question in topic.questions)


def test_corpus_keeps_everything(forum):
    corpus = sample()
    assert corpus.table.columns == forum.columns
    assert corpus.n_messages == forum.height
    assert corpus.n_conversations == 400
    assert "synthetic" in repr(corpus)
