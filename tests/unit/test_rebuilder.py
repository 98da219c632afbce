"""The rebuilder: forests, orders, channels, probabilities, files."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver import store
from palaver.errors import CorpusError, NotFittedError, PalaverWarning, ParameterError
from palaver.evaluate import previous_parents, thread_accuracy
from palaver.models.views.reconstruct import order_of
from palaver.threads import Defaults, ThreadRebuilder, components, interleaved, relinked, steps
from palaver.threads.evidence import gather_evidence
from palaver.threads.kernels.features import FEATURES
from palaver.threads.leanings import _FEWEST, _STRENGTH, learn_leanings
from palaver.threads.likeness import ALIKE, UNLIKE, Portrait, blended, separate, trust
from palaver.threads.pairs import pairs_of
from palaver.threads.places import infer_tilt, tilted
from palaver.threads.ranker import Ranker, scores_of
from palaver.threads.stored import KIND
from palaver.threads.transitions import transitions_of, unlinked

TOPICS = {
    kind: [f"{kind}{k}" for k in range(30)] for kind in ("garden", "engine", "soup", "tax", "moon")
}


def made(shape, n_conversations=30, length=9, seed=0, named=0.0):
    """Return conversations in which everybody replies to the first or the previous message.

    A reply repeats words of its parent; speakers are unknown if nobody is named.
    """
    dice = np.random.default_rng(seed)
    rows = []
    for c in range(n_conversations):
        words = [list(dice.choice(TOPICS[dice.choice(list(TOPICS))], 4)) for _ in range(length)]
        for i in range(length):
            parent = None if i == 0 else {"star": 0, "chain": i - 1}[shape]
            text = list(words[i])
            if parent is not None:
                text += list(dice.choice(words[parent], 3, replace=False))
            rows.append(
                {"conversation": f"c{c}", "id": f"{c}-{i}", "time": 60 * i + c, "speaker": None,
                 "reply_to": None if parent is None else f"{c}-{parent}", "text": " ".join(text)}
            )  # fmt: skip
    return pv.Corpus.from_polars(pl.DataFrame(rows, schema_overrides={"speaker": pl.String}))


@pytest.fixture(scope="module")
def star():
    return made("star")


@pytest.fixture(scope="module")
def chain():
    return made("chain")


@pytest.fixture
def few_passes(monkeypatch):
    """For tests to which it does not matter how well a ranker has learned."""
    monkeypatch.setattr(steps, "_PASSES", (1, 2))
    monkeypatch.setattr(steps, "_FEWEST_STEPS", 1)


def test_untrained_infers_from_the_words_whom_people_answer(star, chain):
    rebuilder = ThreadRebuilder.default()
    for corpus in (star, chain):
        found = rebuilder.links(unlinked(corpus))
        assert thread_accuracy(found.parents, corpus.parents) > 0.9
    # neither of them would be right for both
    assert thread_accuracy(previous_parents(star.conversation_offsets), star.parents) < 0.3


def test_trained_learns_and_says_how_sure_it_is(star, chain):
    for corpus in (star, chain):
        train, test = corpus.split(0.3, random_state=1)
        rebuilder = ThreadRebuilder().fit(train)
        table = rebuilder.predict(unlinked(test))
        assert thread_accuracy(rebuilder.links(test).parents, test.parents) > 0.95
        assert table["id"].to_list() == test.table["id"].to_list()
        assert table["parent"].null_count() == test.n_conversations
        chance = table["probability"].to_numpy()
        assert ((chance > 0) & (chance <= 1)).all()
        runner_up = table["runner_up_probability"].fill_null(0).to_numpy()
        assert (chance + runner_up <= 1 + 1e-9).all()
        assert (chance >= runner_up).all()
        none = table["runner_up_probability"].is_null()
        assert none.sum() == test.n_conversations  # only a first message has no other candidate


def test_replies_of_the_corpus_are_not_looked_at(chain):
    rebuilder = ThreadRebuilder.default()
    assert rebuilder.predict(chain).equals(rebuilder.predict(unlinked(chain)))


@pytest.mark.parametrize("order", ["time", "corpus", None])
def test_forests_only_and_earlier_messages_where_there_is_an_order(order, star):
    mixed = star.table.sample(fraction=1.0, shuffle=True, seed=3)
    corpus = unlinked(pv.Corpus.from_polars(mixed.with_columns(pl.lit(None).alias("reply_to"))))
    rebuilder = ThreadRebuilder(order=order)
    rebuilder.ranker_ = Ranker.linear(np.random.default_rng(0).normal(size=len(FEATURES)))
    rebuilder.temperature_ = 1.0
    found = rebuilder.links(corpus)
    if order is not None:
        assert (found.parents < np.arange(corpus.n_messages)).all()
    roots = components(found.parents)  # ends only without cycles
    assert (found.parents[roots] == -1).all()
    rebuilt = rebuilder.rebuild(corpus)
    assert (rebuilt.parents < np.arange(rebuilt.n_messages)).all()
    links = rebuilder.predict(corpus).select("conversation", "id", "parent")
    again = rebuilt.table.select("conversation", "id", parent="reply_to")
    assert links.sort("conversation", "id").equals(again.sort("conversation", "id"))
    if order == "time":
        times = corpus.table["time"].to_numpy()[found.rows]
        answered = found.parents >= 0
        assert (times[answered] >= times[found.parents[answered]]).all()


def test_a_window_bounds_how_far_replies_reach(chain):
    whole = interleaved(chain)
    rebuilder = ThreadRebuilder(window=5)
    rebuilder.ranker_ = Ranker.linear(np.random.default_rng(1).normal(size=len(FEATURES)))
    rebuilder.temperature_ = 1.0
    found = rebuilder.links(whole)
    reach = np.arange(whole.n_messages) - found.parents
    assert ((reach <= 5) | (found.parents <= 0)).all()  # or the first message, or a start


def test_channels_are_split_into_trees(chain):
    channel = interleaved(made("chain", n_conversations=12, seed=4))
    assert channel.n_conversations == 1
    rebuilder = ThreadRebuilder(channel=True, fallback=False).fit(
        chain
    )  # conversations, mixed by time to learn
    rebuilt = rebuilder.rebuild(unlinked(channel))
    assert rebuilt.n_conversations == (rebuilt.parents < 0).sum() > 1
    assert rebuilt.table["conversation"].str.starts_with("channel 0/").all()
    assert rebuilt.n_messages == channel.n_messages
    starts = rebuilt.conversation_offsets[:-1]
    assert (rebuilt.parents[starts] == -1).all()


def test_relinked_keeps_messages_and_links():
    corpus = made("star", 2, 4)
    rows = np.array([1, 0, 2, 3, 7, 6, 5, 4])
    parents = np.array([-1, 3, 0, 0, 5, -1, 4, -1])
    rebuilt = relinked(corpus, rows, parents)
    ids = corpus.table["id"].to_list()
    wanted = {ids[rows[i]]: ids[rows[p]] if p >= 0 else None for i, p in enumerate(parents)}
    assert dict(rebuilt.table.select("id", "reply_to").iter_rows()) == wanted
    assert rebuilt.conversation_offsets.tolist() == [0, 4, 8]
    nothing = corpus.take([])
    for made_of_nothing in (relinked(nothing, rows[:0], parents[:0]), interleaved(nothing)):
        assert made_of_nothing.n_conversations == 0


@pytest.mark.usefixtures("few_passes")
def test_saved_and_loaded(tmp_path, chain):
    trained = ThreadRebuilder(window=7).fit(chain)
    for number, rebuilder in enumerate((trained, ThreadRebuilder.default(window=9))):
        rebuilder.save(tmp_path / str(number))
        loaded = ThreadRebuilder.load(tmp_path / str(number))
        assert loaded.get_params() == rebuilder.get_params()
        assert loaded.predict(chain).equals(rebuilder.predict(chain))


@pytest.mark.usefixtures("few_passes")
def test_learning_tells_how_far_it_is_and_repeats_itself(chain):
    told = []
    first = ThreadRebuilder(random_state=3).fit(chain, progress=told.append)
    assert sum(told) == pytest.approx(1.0)
    assert min(told) >= 0.0
    again = ThreadRebuilder(random_state=3).fit(chain)
    np.testing.assert_array_equal(first.ranker_.packed, again.ranker_.packed)
    assert len(ThreadRebuilder(hidden=0).fit(chain).ranker_.outer) == 0


def test_what_was_kept_before_there_were_hidden_units_is_read(tmp_path, chain):
    linear = ThreadRebuilder(hidden=0).fit(chain)
    linear.save(tmp_path / "new")
    kept = store.load(tmp_path / "new", KIND)
    arrays = {name: kept.arrays[name] for name in kept.arrays if name not in ("inner", "outer")}
    content = {**kept.content, "params": {k: v for k, v in kept.content["params"].items()
                                          if k != "hidden"}}  # fmt: skip
    store.save(tmp_path / "old", KIND, content, arrays)
    loaded = ThreadRebuilder.load(tmp_path / "old")
    assert loaded.predict(chain).equals(linear.predict(chain))


@pytest.mark.usefixtures("few_passes")
def test_transitions_of_a_model_are_evidence(tmp_path):
    sample = pv.sample(40)
    model = pv.BlockHMM(n_classes=4, n_sweeps=10).fit(sample, show_progress=False)
    rebuilder = ThreadRebuilder(model).fit(sample)
    assert rebuilder.ranker_.weights[FEATURES.index("model")] != 0.0
    rebuilder.save(tmp_path / "kept")
    loaded = ThreadRebuilder.load(tmp_path / "kept")
    assert loaded.predict(sample).equals(rebuilder.predict(sample))
    with pytest.raises(ParameterError, match="how classes follow"):
        ThreadRebuilder(pv.LDA()).fit(sample)


@pytest.mark.usefixtures("few_passes")
def test_acts_are_evidence_without_their_context():
    sample = pv.sample(30)
    model = pv.Acts(n_acts=5, n_sweeps=6, n_chains=2).fit(sample, show_progress=False)
    others = [[f"{m}"] if reply else None for m, reply in sample.table["id", "reply_to"].rows()]
    sample = sample.with_columns(other_parents=pl.Series(others, dtype=pl.List(pl.String)))
    found = transitions_of(model, sample)
    assert found.shares.shape == (sample.n_messages, 5)
    last = sample.take([sample.n_conversations - 1])  # the same acts, whatever is around them
    np.testing.assert_allclose(
        transitions_of(model, last).shares, found.shares[-last.n_messages :], atol=1e-6
    )
    message = found.shares[3].astype(float)
    expected = np.log(message @ model.transitions_[:-1])
    np.testing.assert_allclose(found.replies[3], expected, rtol=1e-4)
    np.testing.assert_allclose(found.replies[-1], np.log(model.transitions_[-1]), rtol=1e-4)
    rebuilder = ThreadRebuilder(model).fit(sample)
    assert rebuilder.ranker_.weights[FEATURES.index("model")] != 0.0


def test_errors_say_what_to_do(chain):
    with pytest.raises(NotFittedError, match="default"):
        ThreadRebuilder().predict(chain)
    with pytest.raises(CorpusError, match="nothing to learn"):
        ThreadRebuilder().fit(unlinked(chain))
    with pytest.raises(ParameterError, match="window"):
        ThreadRebuilder.default(window=0)


def test_small_and_empty_corpora():
    one = made("star", 1, 1)
    assert ThreadRebuilder.default().predict(one)["parent"].to_list() == [None]
    empty = dataclasses.replace(
        one, table=one.table.head(0), parents=one.parents[:0],
        conversation_offsets=np.zeros(1, np.int64),
    )  # fmt: skip
    assert ThreadRebuilder.default().predict(empty).height == 0
    assert ThreadRebuilder.default().rebuild(empty).n_messages == 0
    wordless = pv.Corpus.from_polars(pl.DataFrame({"text": ["", "", "hi"]}))
    assert ThreadRebuilder.default().predict(wordless).height == 3


def test_a_long_pause_starts_a_conversation_in_a_channel():
    minutes = [0, 1, 2, 4, 5, 700, 701]
    speakers = ["ann", "bob", "ann", "bob", "ann", "bob", "ann"]
    texts = ["soup or stew", "soup", "fine", "at six", "yes", "who took my bike", "not me"]
    table = pl.DataFrame({"speaker": speakers, "text": texts, "time": [60 * m for m in minutes]})
    rebuilt = ThreadRebuilder.by_places(channel=True).rebuild(pv.Corpus.from_polars(table))
    assert rebuilt.conversation_offsets.tolist() == [0, 5, 7]
    assert ThreadRebuilder.default().rebuild(rebuilt).n_conversations == 2


def test_the_tilt_is_inferred_from_content(star, chain):
    defaults = Defaults.load()
    tilts = []
    for corpus in (star, chain):
        (pairs,) = pairs_of(gather_evidence(corpus, order_of(corpus, "time")), 100, True)
        tilts.append(infer_tilt(pairs, scores_of(pairs, defaults.weights)))
    assert tilts == [4.0, 0.25]  # all reply to the first, all reply to the previous: at its limits
    shares = [np.exp(tilted(defaults, tilt)) for tilt in tilts]
    newcomer = 2
    assert shares[0][newcomer, 1] > shares[0][newcomer, 0]
    assert shares[1][newcomer, 0] > shares[1][newcomer, 1]
    np.testing.assert_allclose([table.sum(axis=1) for table in shares], 1.0)
    np.testing.assert_allclose(np.exp(tilted(defaults, None)).sum(axis=1), 1.0)


def test_given_replies_are_kept_and_the_others_found(chain):
    # every other reply is unknown; the rest go to the first message, whatever the words say
    rows = np.arange(len(chain))
    hidden = (rows % 9) % 2 == 0
    some = relinked(chain, rows, np.where(hidden, -1, rows - rows % 9))
    rebuilder = ThreadRebuilder.default()
    kept = rebuilder.rebuild(some, keep=True)
    by_id = dict(kept.table.select("id", "reply_to").rows())
    given = dict(some.table.select("id", "reply_to").drop_nulls().rows())
    assert len(given) == 30 * 4
    assert all(by_id[own] == parent for own, parent in given.items())
    sure = kept.table.filter(pl.col("id").is_in(list(given)))
    assert (sure["reply_probability"] == 1).all()
    assert sure["runner_up"].null_count() == len(sure)
    found = kept.table["reply_to"].is_not_null().sum()
    assert found > len(given) + 60
    # without, the words decide
    free = dict(rebuilder.rebuild(some).table.select("id", "reply_to").rows())
    assert any(free[own] != parent for own, parent in given.items())


def test_clocks_that_differ_make_no_cycles():
    corpus = pv.Corpus.from_polars(
        pl.DataFrame(
            {
                "conversation": ["c"] * 3,
                "id": ["a", "b", "c"],
                "reply_to": ["b", None, None],
                "time": [0, 60, 120],  # a replies to b, which was sent later
                "text": ["soup with leek", "soup with leek and salt", "soup with leek"],
            }
        )
    )
    kept = ThreadRebuilder.default().rebuild(corpus, keep=True)
    assert dict(kept.table.select("id", "reply_to").rows())["a"] == "b"
    assert sorted(kept.table["id"]) == ["a", "b", "c"]
    assert (kept.parents < np.arange(3)).all()
    channel = interleaved(corpus)  # by the clock, so a replies to nothing there
    assert channel.table["id"].to_list() == ["c|a", "c|b", "c|c"]
    assert channel.parents.tolist() == [-1, -1, -1]
    assert channel.table["reply_to"].null_count() == 3


def test_trees_are_numbered_in_each_conversation():
    corpus = made("star", n_conversations=2, length=4)
    rows = np.arange(8)
    rebuilt = relinked(corpus, rows, np.array([-1, 0, -1, 2, -1, -1, 4, 5]), split=True)
    first, second = corpus.table["conversation"].unique(maintain_order=True)
    names = [f"{first}/1"] * 2 + [f"{first}/2"] * 2 + [f"{second}/1"] * 2 + [f"{second}/2"] * 2
    assert rebuilt.table["conversation"].to_list() == names
    assert rebuilt.n_conversations == 4


def test_leanings_are_those_of_the_other_messages():
    draws = np.random.default_rng(0)
    n, n_words = 40, 8
    parents = np.array([-1 if i % 5 == 0 else i - 1 for i in range(n)])
    speakers = draws.integers(-1, 2, n)  # some messages have unknown speakers
    has = draws.random((n, n_words)) < np.array([0.05, *[0.4] * (n_words - 1)])
    bag_messages, bag_words = np.nonzero(has)
    people = SimpleNamespace(speakers=speakers)
    gathered = SimpleNamespace(
        evidence=SimpleNamespace(people=people), rows=np.arange(n), words=list("abcdefgh"),
        bag_messages=bag_messages, bag_words=bag_words,
    )  # fmt: skip
    found, scores = learn_leanings(gathered, parents)

    is_reply = parents >= 0
    goes_on = is_reply & (speakers == speakers[parents]) & (speakers >= 0)
    answered = np.isin(np.arange(n), parents[is_reply & ~goes_on])
    everybody = np.ones(n, bool)
    labels = [(goes_on, is_reply), (answered, everybody), (~is_reply, everybody)]

    def odds(word, label, counts, without=-1):
        share = label[counts].mean()
        seen = has[:, word] & counts & (np.arange(n) != without)
        if seen.sum() < _FEWEST:
            return 0.0
        right = (seen & label).sum() + _STRENGTH * share
        wrong = (seen & ~label).sum() + _STRENGTH * (1 - share)
        return np.log(right / wrong) - np.log(share / (1 - share))

    for number, label in enumerate(labels):
        for place, word in enumerate(found.words):
            expected = odds("abcdefgh".index(word), *label)
            assert found.odds[place, number] == pytest.approx(expected, abs=1e-5)
        for message in range(n):
            words = np.flatnonzero(has[message])
            total = sum(odds(word, *label, message) for word in words)
            expected = total / np.sqrt(max(len(words), 1))
            assert scores[message, number] == pytest.approx(expected, abs=1e-5)


def quick_chat(n_conversations=30, seed=0):
    """Return conversations of two people who take turns and call each other by name."""
    dice = np.random.default_rng(seed)
    rows = [
        {"conversation": f"q{c}", "id": f"q{c}-{i}", "time": 60 * i + c,
         "speaker": f"person{(i + c) % 2}", "reply_to": f"q{c}-{i - 1}" if i else None,
         "text": f"person{(i + c + 1) % 2} {' '.join(dice.choice(TOPICS['soup'], 2))}?"}
        for c in range(n_conversations) for i in range(9)
    ]  # fmt: skip
    return pv.Corpus.from_polars(pl.DataFrame(rows))


def test_learned_from_another_kind_of_talk_the_default_is_used(tmp_path):
    train, more = made("star").split(0.3, random_state=1)
    learned = ThreadRebuilder(hidden=0).fit(train)
    assert learned.distance(more) < ALIKE
    chat = quick_chat()
    with pytest.warns(PalaverWarning, match="unlike those that were learned from"):
        found = learned.links(chat)
    assert learned.distance_ == learned.distance(chat) > UNLIKE
    default = ThreadRebuilder.default().links(chat)
    np.testing.assert_array_equal(found.parents, default.parents)
    np.testing.assert_array_equal(found.probabilities, default.probabilities)
    trusting = ThreadRebuilder(hidden=0, fallback=False).fit(train)
    assert (trusting.links(chat).parents != default.parents).any()  # and no warning
    learned.save(tmp_path / "kept")
    assert ThreadRebuilder.load(tmp_path / "kept").distance(chat) == learned.distance(chat)


def talk(n_people, n_words, length, n_conversations=5):
    """Return conversations of people who speak in turn."""
    rows = [
        {"conversation": f"c{c}", "id": f"{c}-{i}", "speaker": f"person{i % n_people}",
         "text": " ".join(f"w{(i * k) % 40}" for k in range(1, n_words + 1))}
        for c in range(n_conversations) for i in range(length)
    ]  # fmt: skip
    return pv.Corpus.from_polars(pl.DataFrame(rows))


@pytest.mark.parametrize(
    ("people", "words", "length", "is_separate"),
    [(2, 8, 12, True), (6, 40, 12, True), (6, 8, 12, False), (2, 40, 120, False)],
)
def test_separate_conversations_are_short_and_of_few_people_or_long_messages(
    people, words, length, is_separate
):
    found = separate(talk(people, words, length))
    expected = f"typically {length} messages of {words} words by {people} people"
    assert found == (expected if is_separate else None)


def test_what_ships_for_channels_leaves_separate_conversations_whole(recwarn):
    dialogues, channels = talk(2, 8, 12), talk(6, 8, 12)
    rebuilder = ThreadRebuilder.default(channel=True)
    with pytest.warns(PalaverWarning, match="12 messages of 8 words by 2 people"):
        rebuilt = rebuilder.rebuild(dialogues)
    assert rebuilt.n_conversations == dialogues.n_conversations
    plain = ThreadRebuilder.by_places().links(dialogues)
    np.testing.assert_array_equal(rebuilder.links(dialogues).parents, plain.parents)
    recwarn.clear()
    assert rebuilder.rebuild(channels).n_conversations > channels.n_conversations
    trusting = rebuilder.set_params(fallback=False).rebuild(dialogues)
    assert trusting.n_conversations > dialogues.n_conversations
    ThreadRebuilder.by_places(channel=True).rebuild(dialogues)
    assert not recwarn.list


def test_between_alike_and_unlike_both_count(star, monkeypatch):
    learned = ThreadRebuilder(hidden=0).fit(star)
    monkeypatch.setattr(Portrait, "distance", lambda *_: (ALIKE + UNLIKE) / 2)
    chat = quick_chat()
    with pytest.warns(PalaverWarning, match="counts 50%"):
        half = learned.links(chat)
    with_all = ThreadRebuilder(hidden=0, fallback=False).fit(star).links(chat)
    default = ThreadRebuilder.default().links(chat)
    same = (with_all.parents == default.parents) & (half.runners_up != -2)
    assert (half.parents[same] == default.parents[same]).mean() > 0.9
    assert not np.allclose(half.probabilities, default.probabilities)


def test_a_portrait_is_of_the_previous_and_the_first_message(star):
    gathered = gather_evidence(star, order_of(star, "time"))
    portrait = Portrait.of(pairs_of(gathered, 100, True))
    rows = [
        np.concatenate([
            pairs.features[a:b][pairs.features[a:b, FEATURES.index(mark)] > 0].sum(axis=0)
            for mark in ("previous", "first")
        ])
        for pairs in pairs_of(gathered, 100, True)
        for a, b in zip(pairs.offsets[:-1], pairs.offsets[1:], strict=True)
        if b - a > 2
    ]  # fmt: skip
    assert portrait.n_messages == len(rows)
    np.testing.assert_allclose(portrait.means, np.mean(rows, axis=0), atol=1e-4)
    np.testing.assert_allclose(portrait.variances, np.var(rows, axis=0), atol=1e-4)
    assert portrait.distance(portrait) == 0
    assert portrait.distance(dataclasses.replace(portrait, n_messages=3)) is None


def test_trust_and_blends():
    assert [trust(d) for d in (None, 0.0, ALIKE, UNLIKE, 2.0)] == [1, 1, 1, 0, 0]
    one, two = np.array([0.8, 0.2, 1.0]), np.array([0.5, 0.5, 1.0])
    offsets = np.array([0, 2, 3])
    np.testing.assert_allclose(blended(one, two, 1.0, offsets), one)
    np.testing.assert_allclose(blended(one, two, 0.0, offsets), two)
    np.testing.assert_allclose(blended(one, two, 0.5, offsets), [2 / 3, 1 / 3, 1.0])
