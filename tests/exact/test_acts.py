"""The model of acts against enumeration, naive twins and numerical integration."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln

import palaver as pv
from palaver import rng
from palaver.kernels.random import uniforms
from palaver.models.acts import consensus, merging
from palaver.models.acts.beginnings import _by_people
from palaver.models.acts.engine import ActEngine, ActShard, cut_units
from palaver.models.acts.kernels.features import count_places
from palaver.models.acts.kernels.forests import forest_posteriors, sample_forests
from palaver.models.acts.seeds import Seeds
from palaver.models.acts.units import RELATIONS, choose_unit, units_of
from palaver.models.acts.views import features_of, learn_views
from palaver.parallel import Globals

PARENTS = np.array([-1, 0, 0, 1, -1], np.int32)
WHERE = np.array([0, 0, 1, 2, 0], np.int8)
CONVERSATIONS = np.array([0, 4, 5])
NOBODY = np.empty(0, np.int16)
STARTS = np.array([0, 2, 5])  # a view of two features, a view of three
FEATURES = [(0, 2), (1, 3), (1, 4, 4), (0,), (2, 2)]
WEIGHTS = [(0.7, 1.2), (0.7, 1.2), (0.7, 0.8, 0.8), (0.7,), (0.8, 0.8)]


def shard(fixed=NOBODY):
    lengths = [len(own) for own in FEATURES]
    return ActShard(
        np.array([f for own in FEATURES for f in own], np.int32),
        np.array([w for own in WEIGHTS for w in own]),
        np.concatenate(([0], np.cumsum(lengths))),
        PARENTS, WHERE, fixed, CONVERSATIONS, 0, 0,
    )  # fmt: skip


def engine(n_acts, prior=0.6, transition_prior=0.5, seeds=None):
    priors = np.full((5, n_acts), prior)
    return ActEngine(n_acts, STARTS, priors, transition_prior, seeds=seeds)


def seeds_for(n_acts):
    """One feature speaks for act 0, which every unit speaks against."""
    features, units = np.zeros((5, n_acts)), np.zeros(n_acts)
    features[3, 0], units[0] = 1.5, 0.5
    return Seeds(features, units)


def parameters(n_acts, seed=0):
    generator = np.random.default_rng(seed)
    parts = [generator.dirichlet(np.ones(size), n_acts).T for size in (2, 3)]
    rows = generator.dirichlet(np.ones(n_acts), len(RELATIONS) * n_acts + 1)
    return {"log_features": np.log(np.vstack(parts)), "rows": rows}


def log_weight(acts, arrays, seeds=None):
    """Return the log of (c) for given parameters, straight from its definition."""
    total, n_acts = 0.0, arrays["rows"].shape[1]
    if seeds is not None:
        total += seeded_weight(acts, seeds)
    for u, k in enumerate(acts):
        row = -1 if PARENTS[u] < 0 else WHERE[u] * n_acts + acts[PARENTS[u]]
        total += np.log(arrays["rows"][row, k])
        for f, w in zip(FEATURES[u], WEIGHTS[u], strict=True):
            total += w * arrays["log_features"][f, k]
    return total


def seeded_weight(acts, seeds):
    """Return what seed words add to the log of (c): s w for each feature, -r for each unit."""
    return sum(
        sum(w * seeds.features[f, k] for f, w in zip(FEATURES[u], WEIGHTS[u], strict=True))
        - seeds.units[k]
        for u, k in enumerate(acts)
    )


@pytest.mark.parametrize("seeds", [None, seeds_for(3)], ids=["plain", "seeded"])
@pytest.mark.parametrize("fixed", [NOBODY, np.array([-1, 1, -1, -1, 0], np.int16)])
def test_posteriors_moves_and_evidence_equal_enumeration(fixed, seeds):
    arrays, model = parameters(3), engine(3, seeds=seeds)
    joint, moves, total = np.zeros((5, 3)), np.zeros((10, 3)), 0.0
    for acts in itertools.product(range(3), repeat=5):
        if any(k >= 0 and acts[u] != k for u, k in enumerate(fixed)):
            continue
        weight = np.exp(log_weight(acts, arrays, seeds))
        total += weight
        for u, k in enumerate(acts):
            joint[u, k] += weight
            moves[-1 if PARENTS[u] < 0 else WHERE[u] * 3 + acts[PARENTS[u]], k] += weight
    found, statistics, evidence = model.posteriors(arrays, shard(fixed))
    np.testing.assert_allclose(found, joint / total, atol=1e-12)
    np.testing.assert_allclose(statistics["moves"], moves / total, atol=1e-12)
    np.testing.assert_allclose(evidence, np.log(total), atol=1e-10)
    expected = np.zeros((5, 3))
    for u, (own, weights) in enumerate(zip(FEATURES, WEIGHTS, strict=True)):
        for f, w in zip(own, weights, strict=True):
            expected[f] += w * joint[u] / total
    np.testing.assert_allclose(statistics["feature_counts"], expected, atol=1e-12)


def test_sampling_equals_a_naive_twin():
    arrays, model, key = parameters(3, 1), engine(3), np.array([3, 9], np.uint64)
    densities = model.densities(arrays["log_features"], shard())
    states = np.empty(5, np.int16)
    sample_forests(densities, PARENTS, WHERE, NOBODY, CONVERSATIONS, 0, arrays["rows"], key, states)
    draws = np.concatenate((uniforms(key, 0, 4), uniforms(key, 1, 1)))
    chosen = []
    for u in range(5):  # each act given those before it, all later ones summed out
        weights = np.zeros(3)
        for rest in itertools.product(range(3), repeat=5 - u):
            weights[rest[0]] += np.exp(log_weight((*chosen, *rest), arrays))
        chosen.append(int(np.searchsorted(np.cumsum(weights / weights.sum()), draws[u])))
    np.testing.assert_array_equal(states, chosen)


def test_log_joint_is_the_integral_over_parameters():
    model = engine(1, prior=0.6)
    counts = np.array([[0.7 * 2], [0.7 * 2], [0.0], [0.0], [0.0]])
    moves = np.zeros((4, 1))

    def density(p):  # two features with weights 1.4 each, prior Beta(0.6, 0.6)
        beta = np.exp(gammaln(1.2) - 2 * gammaln(0.6)) * (p * (1 - p)) ** -0.4
        return beta * p**1.4 * (1 - p) ** 1.4

    np.testing.assert_allclose(model.log_joint(counts, moves), np.log(quad(density, 0, 1)[0]))


def test_seed_words_add_to_the_log_joint_what_their_definition_says():
    acts = np.array([0, 1, 0, 0, 1], np.int16)
    plain, seeded = engine(2), engine(2, seeds=seeds_for(2))
    counted = plain.sweep(Globals("count", {}), shard(), {"states": acts}, rng.key(0, "x"))
    both = [m.log_joint(counted["feature_counts"], counted["moves"]) for m in (plain, seeded)]
    np.testing.assert_allclose(both[1] - both[0], seeded_weight(acts, seeds_for(2)))


def test_units_with_seed_words_begin_in_their_act():
    for number in range(20):
        model, key = engine(3, seeds=seeds_for(3)), rng.key(number, "open", 0)
        assert model.open(Globals("count", {}), shard(), key)["states"][1] == 0  # has feature 3


def test_merging_counts_what_seed_words_say_of_the_units_that_move():
    acts, seeds = np.array([0, 1, 2, 1, 2], np.int16), seeds_for(3)
    plain, seeded = engine(3), engine(3, seeds=seeds)
    counted = plain.sweep(Globals("count", {}), shard(), {"states": acts}, rng.key(0, "x"))
    sizes = np.bincount(acts).astype(float)
    for pair in ((0, 1), (0, 2), (1, 2)):
        losses = [
            merging._Together(m, counted["feature_counts"], sizes, counted["moves"], None)
            .losses([pair])[0][0] for m in (plain, seeded)
        ]  # fmt: skip
        together = np.where(acts == pair[1], pair[0], acts)
        said = seeded_weight(acts, seeds) - seeded_weight(together, seeds)
        np.testing.assert_allclose(losses[1] - losses[0], said, atol=1e-12)


def frequencies(model, temperature=1.0, n_sweeps=40_000):
    """Return how often the sampler visits each assignment of acts, and their probabilities."""
    data, n_acts = shard(), model.n_acts
    shared = model.start(np.random.default_rng(0))
    state = model.open(shared, data, rng.key(1, "open", 0))
    visits = np.zeros(n_acts**5)
    powers = n_acts ** np.arange(5)
    for sweep in range(n_sweeps):
        shared.temperature = temperature
        statistics = model.sweep(shared, data, state, rng.key(1, "sweep", 0, sweep))
        shared, _ = model.update(shared, statistics, rng.generator(1, "update", 0, sweep))
        visits[int(state["states"] @ powers)] += 1
    exact = np.empty(n_acts**5)
    for code in range(n_acts**5):
        states = (code // powers % n_acts).astype(np.int16)
        counted = model.sweep(Globals("count", {}), data, {"states": states}, rng.key(0, "x"))
        exact[code] = np.exp(model.log_joint(counted["feature_counts"], counted["moves"]))
    return visits / n_sweeps, exact / exact.sum()


def test_the_sampler_visits_assignments_as_often_as_the_tempered_target_says():
    found, exact = frequencies(engine(2))
    assert np.abs(found - exact).sum() / 2 < 0.03


def test_the_sampler_visits_assignments_as_often_as_seed_words_say():
    found, exact = frequencies(engine(2, seeds=seeds_for(2)))
    assert np.abs(found - exact).sum() / 2 < 0.03
    plain = frequencies(engine(2), n_sweeps=1)[1]
    assert np.abs(plain - exact).sum() / 2 > 0.2  # which the draws would not be taken for


def test_another_temperature_is_noticed():
    found, exact = frequencies(engine(2), temperature=4.0, n_sweeps=10_000)
    assert np.abs(found - exact).sum() / 2 > 0.05


def test_climbing_does_not_lower_the_objective():
    model, data = engine(3), [shard()]
    statistics = model.posteriors(parameters(3, 4), data[0])[1]
    values = []
    for _ in range(12):
        arrays = model.expected(statistics)
        answer = consensus.posteriors_of(model, data, arrays)
        prior = (0.6 * arrays["log_features"]).sum() + (0.5 * np.log(arrays["rows"])).sum()
        values.append(answer.log_evidence + prior)
        statistics = answer.statistics
    assert np.all(np.diff(values) > -1e-10)
    assert values[-1] > values[0] + 1e-3


def test_searches_are_matched_whatever_their_numbers():
    generator = np.random.default_rng(3)
    truth = generator.integers(0, 4, 500)
    found = []
    for _ in range(5):
        order = generator.permutation(4)
        noisy = np.where(generator.random(500) < 0.1, generator.integers(0, 4, 500), truth)
        found.append(np.eye(4)[order[noisy]])
    overlaps = np.array([[one.T @ other for other in found] for one in found])
    orders = consensus.match_acts(overlaps, 2)
    mean = sum(one[:, order] for one, order in zip(found, orders, strict=True))
    pairs = {(int(t), int(k)) for t, k in zip(truth, mean.argmax(axis=1), strict=True)}
    assert len(pairs) < 8  # nearly one to one
    overlap = consensus.agreement(mean.argmax(axis=1), [one.argmax(axis=1) for one in found], 4)
    assert overlap.min() > 0.7


def test_states_that_say_the_same_become_one_act():
    generator = np.random.default_rng(5)
    kinds = np.eye(5)[:, :3] * 1600 + 1  # weights of several views: 4 per unit
    twins = kinds[:, [0, 1, 1, 2]] + generator.random((5, 4))
    twins[3, 2] += 200  # nearly the same
    model = ActEngine(4, np.array([0, 5]), np.full((5, 4), 0.2), 1.0)
    sizes = np.full(4, 400.0)
    found = merging.merge_alike(model, twins, sizes, fewest=1)
    np.testing.assert_array_equal(found, [0, 1, 1, 2])
    np.testing.assert_array_equal(merging.merge_alike(model, twins, sizes, fewest=4), [0, 1, 2, 3])
    np.testing.assert_array_equal(  # acts with names stay apart
        merging.merge_alike(model, twins, sizes, fewest=1, n_named=3), [0, 1, 2, 3]
    )
    for size, expected in (
        (400.0, [0, 1, 1, 2]),
        (800.0, [0, 1, 2, 3]),
    ):  # a name stays with its act
        own = np.array([400.0, 400.0, size, 400.0])
        found = merging.merge_alike(model, twins, own, fewest=1, n_named=2)
        np.testing.assert_array_equal(found, expected)
    rare = np.array([400.0, 400.0, 400.0, 1.0])
    found = merging.merge_alike(model, twins, rare, fewest=1)
    assert found[3] in found[:3]


def test_states_too_rare_to_show_are_merged_though_few_are_left():
    kinds = np.eye(5)[:, :3] * 1600 + 1
    model = ActEngine(3, np.array([0, 5]), np.full((5, 3), 0.2), 1.0)
    rare = np.array([400.0, 400.0, 1.0])
    np.testing.assert_array_equal(
        merging.merge_alike(model, kinds, np.full(3, 400.0), fewest=3), [0, 1, 2]
    )
    assert len(set(merging.merge_alike(model, kinds, rare, fewest=3))) == 2


def test_the_better_half_is_joined_best_first():
    assert consensus.better_half([-5.0, -1.0, -3.0, -2.0, -9.0]) == [1, 3, 2]
    assert consensus.better_half([-5.0]) == [0]


def test_states_that_make_up_an_act_together_have_found_it():
    answer = np.array([0] * 60 + [1] * 40)
    split = np.array([3] * 30 + [1] * 30 + [0] * 40)
    blurred = np.array([0] * 100)
    np.testing.assert_array_equal(consensus.put_together(split, answer, 2), answer)
    np.testing.assert_array_equal(consensus.finders_of(answer, [split, split, blurred], 2), [3, 2])


def test_acts_that_one_search_found_are_merged_with_the_most_similar():
    posteriors = np.repeat(np.eye(3), [50, 30, 20], axis=0)
    counts = np.array([[150, 0, 40], [0, 90, 0], [0, 0, 20], [0, 0, 0], [0, 0, 0]], float)
    model = ActEngine(3, np.array([0, 5]), np.full((5, 3), 0.2), 1.0)
    answer = consensus.Answer({"feature_counts": counts}, posteriors, 0.0)
    states = posteriors.argmax(axis=1)
    without = np.where(states == 2, 0, states)
    groups = np.arange(3)
    merged = merging.merge_unfound(model, answer, groups, [states, without, without, without])
    np.testing.assert_array_equal(merged, [0, 1, 0])
    twice = [states, states, without, without]
    np.testing.assert_array_equal(merging.merge_unfound(model, answer, groups, twice), groups)


def test_acts_that_nobody_found_do_not_swallow_small_acts():
    """They go to what they are most like per unit, not to whatever is smallest."""
    posteriors = np.repeat(np.eye(4), [400, 200, 40, 20], axis=0)
    counts = np.array([[900, 0, 120, 0], [300, 0, 0, 0], [0, 600, 0, 0], [0, 200, 0, 10],
                       [0, 0, 40, 70]], float)  # fmt: skip
    model = ActEngine(4, np.array([0, 5]), np.full((5, 4), 0.2), 1.0)
    answer = consensus.Answer({"feature_counts": counts}, posteriors, 0.0)
    states = posteriors.argmax(axis=1)
    without = np.where(states == 2, 0, states)
    found = [without] * 4
    lost = [model.evidence(counts[:, k], np.full(5, 0.2))
            + model.evidence(counts[:, 2], np.full(5, 0.2))
            - model.evidence(counts[:, k] + counts[:, 2], np.full(5, 0.2))
            for k in (0, 1, 3)]  # fmt: skip
    assert lost[2] < lost[0]  # in all, the smallest act is nearest
    merged = merging.merge_unfound(model, answer, np.arange(4), found)
    np.testing.assert_array_equal(merged, [0, 1, 0, 2])


def test_the_cost_of_merging_is_the_loss_of_evidence():
    counts = np.array([[90, 2], [3, 80], [40, 1], [5, 2], [1, 70]], float)
    model = ActEngine(2, STARTS, np.full((5, 2), 0.4), 1.0)
    moves = np.zeros((7, 2))
    apart = model.log_joint(counts, moves)
    joined = counts.copy()
    joined[:, 0] += joined[:, 1]
    joined[:, 1] = 0
    loss = apart - model.log_joint(joined, moves)
    for size in (loss / merging.ALIKE * 0.9, loss / merging.ALIKE * 1.1):
        found = merging.merge_alike(model, counts, np.full(2, size), fewest=1)
        assert (found.max() == 0) == (loss / size < merging.ALIKE)


def _polya(counts, prior):
    """Log probability of a sequence with these counts, one draw after the other."""
    seen, total = dict.fromkeys(range(len(counts)), 0), 0.0
    for k, n in enumerate(counts):
        for _ in range(int(n)):
            total += np.log((prior[k] + seen[k]) / (sum(prior) + sum(seen.values())))
            seen[k] += 1
    return total


def test_what_follows_counts_when_acts_are_merged():
    """The second line of (d) is the log Bayes factor of the moves, drawn one after the other."""
    generator = np.random.default_rng(8)
    moves = generator.integers(0, 6, (10, 3)).astype(float)  # three relations, and the start
    prior = [0.7] * 3
    apart = sum(_polya(row, prior) for row in moves)
    lumped = np.column_stack((moves[:, 0], moves[:, 1] + moves[:, 2]))
    rows = [row for c in range(3) for row in (lumped[3 * c], lumped[3 * c + 1] + lumped[3 * c + 2])]
    one = sum(_polya(row, [0.7, 1.4]) for row in [*rows, lumped[-1]])
    which = _polya(moves[:, 1:].sum(axis=0), prior[1:])
    follow = merging._Following(moves, 3, 0.7)
    np.testing.assert_allclose(follow.loss(1, 2), apart - one - which, rtol=1e-10)
    follow.merge(1, 2)
    np.testing.assert_allclose(follow.moves[3, [0, 1]], rows[2])
    assert follow.moves[:, 2].sum() == 0
    np.testing.assert_allclose(follow.prior, [0.7, 1.4, 0.0])


def test_acts_that_say_the_same_in_other_places_stay_apart():
    counts = np.full((5, 3), 100.0)
    counts[:, 2] = [400, 0, 0, 60, 40]
    model = ActEngine(3, STARTS, np.full((5, 3), 0.4), 1.0)
    sizes = np.full(3, 100.0)
    moves = np.zeros((10, 3))
    moves[:3] = [[0, 100, 0], [0, 0, 100], [100, 0, 0]]  # always one after the other
    assert merging.merge_alike(model, counts, sizes, fewest=1).tolist() == [0, 0, 1]
    alone = merging.merge_alike(model, counts, sizes, fewest=1, moves=moves)
    assert alone.tolist() == [0, 1, 2]
    assert merging.merge_alike(model, counts, sizes, fewest=1, moves=moves * 0).max() == 1


def test_of_acts_of_one_name_the_most_similar_become_one():
    """As if each act were one state: states that are one act already are added up first."""
    generator = np.random.default_rng(3)
    counts = generator.random((5, 6)) * 200
    moves = generator.integers(0, 40, (19, 6)).astype(float)
    posteriors = np.repeat(np.eye(6), [80, 40, 80, 40, 80, 80], axis=0)
    answer = consensus.Answer({"feature_counts": counts, "moves": moves}, posteriors, 0.0)
    groups = np.array([0, 1, 2, 1, 3, 4])
    model = ActEngine(6, STARTS, np.full((5, 6), 0.4), 1.0)
    added = np.delete(counts, 3, axis=1)
    added[:, 1] += counts[:, 3]
    follow = merging._Following(moves, 6, 1.0)
    follow.merge(1, 3)
    prior = np.full(5, 0.4)
    first = [0, 1, 2, 4, 5]

    def difference(a, b):
        said = (model.evidence(added[:, a], prior)
                + model.evidence(added[:, b], prior)
                - model.evidence(added[:, a] + added[:, b], prior))  # fmt: skip
        return (said + follow.loss(first[a], first[b])) / 80

    for names, pairs in (([0, 0, 0, 1, 2], [(0, 1), (0, 2), (1, 2)]),
                         ([0, 1, 2, 0, 1], [(0, 3), (1, 4)])):  # fmt: skip
        kept, gone = min(pairs, key=lambda pair: difference(*pair))
        wanted = np.where(groups == gone, kept, groups)
        wanted = wanted - (wanted > gone)
        found = merging.merge_namesakes(model, answer, groups, names)
        np.testing.assert_array_equal(found, wanted)
    same = merging.merge_namesakes(model, answer, groups, list(range(5)))
    np.testing.assert_array_equal(same, groups)


def test_moves_are_added_up_by_groups():
    moves = np.arange(7 * 2, dtype=float).reshape(7, 2)
    merged = consensus.merge_moves(moves, np.array([0, 0]))
    np.testing.assert_allclose(merged[:, 0], [moves[0:2].sum(), moves[2:4].sum(),
                                              moves[4:6].sum(), moves[6].sum()])  # fmt: skip


def _without_addressee(tokens, people):
    """Drop "@ ann", "ann :" or "ann ," where somebody is called that; names are one word here."""
    text = " ".join(tokens)
    for name in people:
        for opening in (f"@ {name} : ", f"@ {name} , ", f"@ {name} ", f"{name} : ", f"{name} , "):
            if text.startswith(opening):
                return text.removeprefix(opening).split()
    return tokens


def test_views_equal_a_naive_twin_that_reads_the_texts():
    corpus = pv.sample(40)
    people = {str(name).lower() for name in corpus.table["speaker"].unique()}
    data = pv.encode(corpus, min_count=1, sentences=True, keep_unknown=True)
    for unit in ("message", "sentence"):
        units = units_of(data, unit)
        views = learn_views(data, units)
        found = features_of(views, data, units)
        names = np.array(views.features, dtype=object)
        words = [*data.vocabulary.words, "?"]
        for u in range(0, units.n_units, 7):
            tokens = [words[t] for t in data.tokens[units.offsets[u] : units.offsets[u + 1]]]
            own = names[found.ids[found.offsets[u] : found.offsets[u + 1]]]
            assert ("question: yes" in own) == any("?" in t for t in tokens)
            assert ("exclamation: yes" in own) == any("!" in t for t in tokens)
            spoken = [t for t in tokens if any(c.isalnum() or ord(c) > 0x2000 for c in t)]
            said = [t for t in _without_addressee(tokens, people) if t in spoken]
            for view, edge in (("beginning", said[0]), ("end", spoken[-1])):
                shown = [name for name in own if name.startswith(f"{view}: ")]
                assert len(shown) == 1
                assert shown[0].split(": ", 1)[1] in (edge, "<other>", "<number>")
            last = tokens[-1]
            closing = next(n for n in own if n.startswith("closing: ")).split(": ", 1)[1]
            assert (closing == "<none>") == (last in spoken)
            n_frequent = sum(name.startswith("words: ") for name in own)
            weights = found.weights[found.offsets[u] : found.offsets[u + 1]]
            of_words = weights[[name.startswith("words: ") for name in own]]
            np.testing.assert_allclose(of_words, 0.75 / np.sqrt(max(n_frequent, 1)))


def test_units_follow_replies_speakers_and_sentences():
    corpus = pv.sample(40)
    data = pv.encode(corpus, min_count=1, sentences=True)
    units = units_of(data, "sentence")
    assert choose_unit("auto", data) == "sentence"
    assert np.all(np.diff(units.messages) >= 0)
    assert units.offsets[-1] == data.n_tokens
    speakers = data.speakers.codes
    for u in range(units.n_units):
        parent, message = units.parents[u], units.messages[u]
        if parent >= 0 and units.messages[parent] == message:
            assert parent == u - 1
            assert units.relations[u] == 2
        elif parent >= 0:
            answered = units.messages[parent]
            assert answered == data.parents[message]
            same = speakers[answered] == speakers[message]
            assert units.relations[u] == (1 if same else 0)
        else:
            assert data.parents[message] < 0


def test_shards_give_the_posteriors_of_the_whole(monkeypatch):
    data = pv.encode(pv.sample(60))
    units = units_of(data, "message")
    views = learn_views(data, units)
    features = features_of(views, data, units)
    model = ActEngine(3, views.starts, np.full((views.n_features, 3), 0.2), 1.0)
    one = cut_units(units, features, NOBODY)
    monkeypatch.setattr("palaver.models.acts.engine.SMALLEST_UNITS", 40)
    many = cut_units(units, features, NOBODY)
    assert len(one) == 1
    assert len(many) > 3
    generator = np.random.default_rng(0)
    start = {"feature_counts": generator.random((views.n_features, 3)),
             "moves": generator.random((10, 3))}  # fmt: skip
    left = consensus.posteriors_of(model, one, model.expected(start))
    right = consensus.posteriors_of(model, many, model.expected(start), n_jobs=3)
    np.testing.assert_allclose(left.posteriors, right.posteriors, atol=1e-12)
    np.testing.assert_allclose(left.log_evidence, right.log_evidence)


def test_posteriors_of_a_very_long_chain_do_not_underflow():
    n = 5_000
    generator = np.random.default_rng(0)
    densities = generator.normal(size=(n, 3)) * 40
    parents = np.arange(-1, n - 1, dtype=np.int32)
    rows = generator.dirichlet(np.ones(3), 10)
    found, moves = np.empty((n, 3)), np.zeros((10, 3))
    evidence = forest_posteriors(
        densities, parents, np.zeros(n, np.int8), NOBODY, rows, found, moves
    )
    assert np.isfinite(evidence)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(moves.sum(), n)


def test_words_are_counted_by_places_and_beginnings_by_people():
    rng = np.random.default_rng(5)
    tokens, n_words = rng.integers(-1, 7, 60).astype(np.int32), 8
    offsets = np.concatenate(([0], np.sort(rng.integers(0, 60, 11)), [60]))
    places = np.sort(rng.integers(0, 5, 12))
    in_place: dict[int, set[int]] = {place: set() for place in places.tolist()}
    for unit, place in enumerate(places.tolist()):
        in_place[place] |= set(tokens[offsets[unit] : offsets[unit + 1]].tolist())
    expected = [sum(word in own for own in in_place.values()) for word in range(n_words)]
    assert count_places(tokens, offsets, places, n_words).tolist() == expected
    cells, people = rng.integers(0, 6, 40), rng.integers(0, 4, 40)
    pairs = set(zip(cells.tolist(), people.tolist(), strict=True))
    expected = [sum(cell == one for one, _ in pairs) for cell in range(7)]
    assert _by_people(cells, people, 7).tolist() == expected
