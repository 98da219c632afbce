"""Emitted factors, drawn first states and states given the tag before, against enumeration."""

import itertools

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver import rng
from palaver.errors import ParameterError
from palaver.models.taggers.hidden_backoff.engine import first_draws
from palaver.models.taggers.hidden_backoff.layout import make_layout

WORDS = ("yes", "no", "so")


def talk(n=60, seed=0):
    """Sentences whose words, pitch of each word and pause depend on the act."""
    generator = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        question = bool(generator.integers(2))
        size = int(generator.integers(1, 4))
        shares = [0.5, 0.3, 0.2] if question else [0.2, 0.3, 0.5]
        rows.append(
            {
                "conversation": str(i // 4),
                "id": str(i),
                "text": "",
                "tokens": generator.choice(WORDS, size, p=shares).tolist(),
                "pitch": generator.choice(["up", "down"], size,
                                          p=[0.7, 0.3] if question else [0.4, 0.6]).tolist(),
                "pause": ["short", "long"][int(generator.random() < (0.6 if question else 0.2))],
                "act": "q" if question else "s",
            }
        )  # fmt: skip
    return pv.Corpus.from_polars(pl.DataFrame(rows))


def witten_bell(counts, lower):
    """Return the probabilities of values given counts in a context and what is below."""
    n, types = sum(counts.values()), len(counts)
    if not n:
        return lower
    return {v: (counts.get(v, 0) + types * p) / (n + types) for v, p in lower.items()}


def test_an_emitted_factor_is_estimated_as_written_out():
    corpus = talk()
    tagger = pv.HiddenBackoffTagger(emitted=["pitch", "pause"], min_count=1).fit(corpus)
    for name, place in (("pitch", 1), ("pause", 2)):
        values = tagger.factor_values_[name]
        table = tagger._tables[0][place]
        every = corpus.table.select("act", name)
        every = every.explode(name) if name == "pitch" else every
        uniform = dict.fromkeys(values, 1 / len(values))
        overall = witten_bell(dict(every[name].value_counts().iter_rows()), uniform)
        for number, tag in enumerate(tagger.tags_):
            own = every.filter(pl.col("act") == tag)[name].value_counts()
            expected = witten_bell(dict(own.iter_rows()), overall)
            found = table.row([number])
            np.testing.assert_allclose(found, [expected[value] for value in values], rtol=1e-12)


PARAMS = [
    {"n_states": 1, "emitted": ["pitch", "pause"]},
    {"n_states": 2, "emitted": ["pitch"]},
    {"n_states": 2, "emitted": {"pitch": "word>state>tag", "pause": "tag"}},
    {"n_states": 2, "emitted": ["pause"], "end": False, "tag_order": 2},
    {"n_states": {"q": 1, "s": 2, "s after q": 1, "q after q": 2}, "emitted": ["pitch"]},
    {"n_states": {"q": 2, "s": 1, "s after s": 3}, "tag_order": 2, "topology": "fork"},
    {"n_states": 2, "tied": True, "emitted": ["pitch"], "alignment": "averaged"},
]


def sentence(tagger, corpus, k, tag, before):
    """Return the probabilities of the best path of states and of all, by enumeration."""
    layout = tagger._words.layout
    variant = layout.variants[before, tag]
    low, size = layout.units[variant], layout.n_states[variant]
    learned, index = tagger.chains_[0], tagger.vocabulary_.index
    row = corpus.table.row(k, named=True)
    tokens = [index.get(word, 0) for word in row["tokens"]] + [1] * tagger.end
    pitches = list(row["pitch"]) + [None] * tagger.end
    pauses = [None] * (len(tokens) - 1) + [row["pause"]]
    values = {"pitch": pitches, "pause": pauses}

    def emission(i, state):
        unit = low + state
        found = []
        for own, *others in tagger._tables:
            previous = tokens[i - 1] if i else len(tagger.vocabulary_)
            hidden = [layout.word_states[unit]] if layout.most > 1 else []
            part = own.row([previous, *hidden, layout.word_tags[unit]])[tokens[i]]
            for (name, factor), table in zip(tagger._words.emitted.items(), others, strict=True):
                value = values[name][i]
                if value is not None:
                    number = tagger.factor_values_[name].index(value)
                    parents = {"word": tokens[i], "state": state, "tag": tag}
                    part *= table.row([parents[p] for p in factor.parents])[number]
            found.append(part)
        return np.mean(found)

    paths = []
    for path in itertools.product(range(size), repeat=len(tokens)):
        p = learned["start"][low + path[0]]
        for a, b in itertools.pairwise(path):
            p *= learned["moves"][low + a, b]
        for i, state in enumerate(path):
            p *= emission(i, state) if p else 0.0
        paths.append(p)
    return max(paths), sum(paths)


@pytest.mark.parametrize("params", PARAMS, ids=str)
def test_tags_and_probabilities_equal_enumeration(params):
    corpus = talk()
    tagger = pv.HiddenBackoffTagger(min_count=1, max_rounds=2, n_alignments=2, **params).fit(corpus)
    new = talk(8, seed=5)
    n_tags = len(tagger.tags_)
    tags, shares = tagger.predict(new), tagger.predict_proba(new)
    for first in (0, 4):
        rows = range(first, first + 4)
        known = {
            (k, before, tag): sentence(tagger, new, k, tag, before)
            for k in rows for before in range(n_tags + 1) for tag in range(n_tags)
        }  # fmt: skip
        joint = []
        for path in itertools.product(range(n_tags), repeat=4):
            p = np.ones(2)
            padded = (n_tags, n_tags, *path)
            for i, k in enumerate(rows):
                older, before, tag = padded[i : i + 3]
                history = before if tagger.tag_order == 2 else older * (n_tags + 1) + before
                p *= np.exp(tagger.chains_[0]["tag_moves"][1, history, tag])  # no speakers: changes
                p *= known[k, before, tag]
            joint.append((path, *p))
        best = max(joint, key=lambda entry: entry[1])[0]
        assert [tagger.tags_[tag] for tag in best] == tags[first : first + 4].tolist()
        total = sum(p for _, _, p in joint)
        for i, k in enumerate(rows):
            for tag in range(n_tags):
                share = sum(p for path, _, p in joint if path[i] == tag) / total
                np.testing.assert_allclose(shares[k, tag], share, rtol=1e-9)


@pytest.mark.parametrize("params", PARAMS, ids=str)
def test_likelihood_never_falls_within_the_epochs_of_a_round(params, tmp_path):
    tagger = pv.HiddenBackoffTagger(max_rounds=2, tolerance=0.0, first_states="random", **params)
    tagger.fit(talk(), folder=tmp_path / "run")
    for _, part in tagger.rounds_.filter(pl.col("phase") == "epoch").group_by("round"):
        logs = part["log_likelihood"].to_numpy()
        assert (np.diff(logs) >= -1e-9 * np.abs(logs[1:])).all()
    again = pv.load(tmp_path / "run")
    assert (again.predict(talk(20, 3)) == tagger.predict(talk(20, 3))).all()
    assert again.n_states_ == tagger.n_states_


def test_what_depends_on_the_act_alone_helps_if_it_is_emitted():
    """A pitch that follows the act in nine of ten words; words say nothing."""
    generator = np.random.default_rng(1)
    rows = []
    for i in range(600):
        act = int(generator.integers(2))
        pitch = np.where(generator.random(5) < 0.9, act, 1 - act)
        rows.append({"conversation": str(i // 20), "id": str(i), "text": "", "act": "qs"[act],
                     "tokens": generator.choice(["oh", "so"], 5).tolist(),
                     "pitch": pitch.tolist()})  # fmt: skip
    train, test = pv.Corpus.from_polars(pl.DataFrame(rows)).split(test=0.3, random_state=0)
    plain = {"tag_order": 1, "speaker_change": False}
    assert pv.HiddenBackoffTagger(**plain).fit(train).score(test) < 0.65
    for n_states in (1, 2):
        emitted = pv.HiddenBackoffTagger(n_states, emitted=["pitch"], **plain).fit(train)
        assert emitted.score(test) > 0.95


def test_states_find_a_pitch_that_turns():
    """Questions rise at their end, statements at their beginning: only states know where."""
    generator = np.random.default_rng(2)
    rows = []
    for i in range(400):
        act = int(generator.integers(2))
        half = int(generator.integers(2, 4))
        pitch = ([1] * half + [0] * half)[:: 1 if act else -1]
        rows.append({"conversation": str(i // 20), "id": str(i), "text": "", "act": "qs"[act],
                     "tokens": ["so"] * 2 * half, "pitch": pitch})  # fmt: skip
    train, test = pv.Corpus.from_polars(pl.DataFrame(rows)).split(test=0.3, random_state=0)
    plain = {"emitted": ["pitch"], "tag_order": 1, "speaker_change": False}
    assert pv.HiddenBackoffTagger(1, **plain).fit(train).score(test) < 0.7
    assert pv.HiddenBackoffTagger(2, **plain).fit(train).score(test) == 1.0


def test_mistakes_in_emitted_factors_are_explained():
    corpus = talk(12)
    for params, message in (
        ({"emitted": ["zebra"]}, "no column 'zebra'"),
        ({"emitted": {"pitch": "speaker>tag"}}, "must name some of word, state, tag"),
        ({"emitted": {"pitch": ""}}, "must name some of word, state, tag"),
        ({"emitted": ["pitch"], "factors": ["pitch"]}, "in factors and in emitted"),
        ({"n_states": {"s after zebra": 2}}, "'q after s' is one of them|'s after q' is one"),
    ):
        with pytest.raises(ParameterError, match=message):
            pv.HiddenBackoffTagger(**params).fit(corpus)


def test_a_search_reads_emitted_factors():
    found = pv.HiddenBackoffTagger(emitted=["pause"]).search(talk(24), talk(12, 1), budget=3)
    assert found.emitted == ["pause"]
    assert found.search_.height == 3


def test_missing_and_new_values_say_nothing():
    corpus = talk()
    tagger = pv.HiddenBackoffTagger(emitted=["pause"], min_count=1).fit(corpus)
    plain = corpus.with_columns(pause=pl.Series([None] * corpus.n_messages, dtype=pl.String))
    new = corpus.with_columns(pause=pl.Series(["endless"] * corpus.n_messages))
    np.testing.assert_array_equal(tagger.predict_proba(plain), tagger.predict_proba(new))
    assert not np.allclose(tagger.predict_proba(plain), tagger.predict_proba(corpus))


@pytest.mark.parametrize("topology", ["forward", "fork"])
def test_drawn_first_states_are_all_allowed_paths(topology):
    layout = make_layout({"a": 3, "b": 2}, ["a", "b", "c"], [], topology, False)
    offsets = np.arange(0, 3001, 3)
    tags = np.arange(1000, dtype=np.int32) % 3
    conversations = np.arange(0, 1001, 10)
    key = rng.key(3, "test", 0, 0)
    draws = first_draws(offsets, conversations, 0, key)
    states = layout.draw(offsets, tags, *draws).reshape(-1, 3)
    start, moves = layout.allowed()
    for tag, (low, size) in enumerate(zip(layout.units, layout.n_states, strict=False)):
        allowed = {
            path for path in itertools.product(range(size), repeat=3)
            if start[low + path[0]] and all(moves[low + a, b] for a, b in itertools.pairwise(path))
        }  # fmt: skip
        assert {tuple(path) for path in states[tags == tag].tolist()} == allowed
    half = first_draws(offsets[500:], conversations[50:] - 500, 50, key)  # another shard
    np.testing.assert_array_equal(half[1], draws[1][1500:])


def test_random_first_states_depend_on_the_seed_alone():
    train = pv.sample(30)
    params = {"n_states": 2, "first_states": "random", "max_rounds": 1}
    one, same, other = (
        pv.HiddenBackoffTagger(random_state=seed, n_jobs=jobs, **params).fit(train)
        for seed, jobs in ((1, 1), (1, 2), (2, 1))
    )
    assert one.rounds_.equals(same.rounds_)
    assert not one.rounds_.equals(other.rounds_)
