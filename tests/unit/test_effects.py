"""Effects of columns on shares: against statsmodels, by hand, and with effects that are planted."""

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm

import palaver as pv
from palaver.draw.intervals import interval_chart
from palaver.errors import ParameterError
from palaver.models.views.effects import INTERCEPT, design, effects_table, plot_effects


def corpus(n, speakers=None, per_conversation=4, **columns):
    table = {
        "conversation": [f"c{i // per_conversation:04}" for i in range(n)],
        "id": [f"m{i:05}" for i in range(n)],
        "speaker": speakers or ["ann"] * n,
        "text": ["x"] * n,
        **columns,
    }
    return pv.Corpus.from_polars(pl.DataFrame(table))


def ask(shares, threads, formula, groups=None, units=None, known=None, **options):
    n = threads.n_messages
    known = np.ones(n, bool) if known is None else known
    asked = design(threads, formula, groups, known)
    units = np.ones(n, np.int64) if units is None else units
    options = {"n_draws": 2, "level": 0.95, "random_state": 0} | options
    return effects_table(np.asarray(shares, float), units, asked, **options), asked


def one_hot(chosen, n_classes=2):
    return np.eye(n_classes)[np.asarray(chosen, int)]


def effect(table, k, term):
    return table.row(by_predicate=(pl.col("class") == k) & (pl.col("term") == term), named=True)


def test_certain_shares_give_the_difference_of_means_and_its_cluster_error():
    generator = np.random.default_rng(0)
    role = generator.choice(["asker", "helper"], 400)
    chosen = generator.random(400) < np.where(role == "helper", 0.6, 0.3)
    table, asked = ask(one_hot(chosen), corpus(400, role=role), "~ role")
    found = effect(table, 1, "role=helper")
    means = [chosen[role == name].mean() for name in ("asker", "helper")]
    assert found["effect"] == pytest.approx(means[1] - means[0])
    assert effect(table, 1, INTERCEPT)["effect"] == pytest.approx(means[0])
    # the sandwich by hand, with the usual correction for few clusters
    x = asked.values
    residuals = chosen - x @ np.linalg.lstsq(x, chosen.astype(float), rcond=None)[0]
    scores = np.add.reduceat(x * residuals[:, None], np.arange(0, 400, 4))
    bread = np.linalg.inv(x.T @ x)
    sandwich = bread @ scores.T @ scores @ bread * (100 / 99) * (399 / 398)
    ordinary = bread * (residuals**2).sum() / 398
    width = 1.959964 * np.sqrt(max(sandwich[1, 1], ordinary[1, 1]))
    assert found["high"] - found["effect"] == pytest.approx(width, rel=1e-6)
    assert effect(table, 0, "role=helper")["effect"] == pytest.approx(-found["effect"])


def test_random_intercepts_agree_with_a_mixed_model():
    generator = np.random.default_rng(1)
    speaker = np.sort(generator.integers(0, 25, 600))
    x = generator.normal(size=600) + 0.05 * speaker
    chance = np.clip(0.4 + 0.05 * x + generator.normal(0, 0.15, 25)[speaker], 0, 1)
    chosen = generator.random(600) < chance
    threads = corpus(600, [f"s{s:02}" for s in speaker], x=x)
    table, asked = ask(one_hot(chosen), threads, "~ x", groups="speaker")
    mixed = sm.MixedLM(chosen.astype(float), asked.values, groups=speaker).fit(reml=True)
    for term, expected in zip(asked.terms, mixed.fe_params, strict=True):
        assert effect(table, 1, term)["effect"] == pytest.approx(expected, rel=1e-6)
    plain, _ = ask(one_hot(chosen), threads, "~ x")
    assert abs(effect(plain, 1, "x")["effect"] - mixed.fe_params[1]) > 1e-3


def test_groups_tell_an_effect_from_the_habits_of_a_talkative_person():
    # one helper writes half of all helpers' messages and does class 1 all the time
    generator = np.random.default_rng(2)
    speaker = np.repeat(np.arange(60), 10)
    speaker[-200:] = 59
    helper = speaker >= 30
    chosen = generator.random(600) < np.where(speaker == 59, 0.95, 0.3)
    threads = corpus(600, [f"s{s:02}" for s in speaker], role=np.where(helper, "b", "a"))
    naive = effect(ask(one_hot(chosen), threads, "~ role")[0], 1, "role=b")
    grouped = effect(ask(one_hot(chosen), threads, "~ role", "speaker")[0], 1, "role=b")
    assert naive["effect"] > 0.25
    assert grouped["low"] < 0.05 < naive["low"]


@pytest.mark.slow
def test_planted_effects_lie_within_their_intervals():
    """Shares are calibrated but uncertain, and conversations differ.

    Of 100 intervals of 95 %, at least 88 hold the truth: fewer has probability 0.002.
    """
    held = 0
    for seed in range(50):
        generator = np.random.default_rng(seed)
        role = generator.choice(["a", "b"], 300)
        late = generator.choice(["1", "2"], 300)
        mood = np.repeat(generator.uniform(-0.15, 0.15, 75), 4)
        mean = 0.35 + 0.1 * (role == "b") + 0.2 * ((role == "b") & (late == "2")) + mood
        chance = np.clip(mean + generator.uniform(-0.15, 0.15, 300), 0.01, 0.99)
        chosen = np.column_stack([1 - chance, chance])
        table, _ = ask(chosen, corpus(300, role=role, late=late), "~ role * late", n_draws=10)
        for term, truth in (("role=b", 0.1), ("role=b × late=2", 0.2)):
            found = effect(table, 1, term)
            held += found["low"] <= truth <= found["high"]
    assert held >= 88


def test_what_a_single_conversation_has_is_no_sure_effect():
    """Residuals of the only conversation with a value sum to zero: clustered errors vanish."""
    sure = 0
    for seed in range(40):
        chosen = np.random.default_rng(seed).random(200) < 0.3
        rare = corpus(200, month=["02"] * 4 + ["01"] * 196)
        found = effect(ask(one_hot(chosen), rare, "~ month")[0], 1, "month=02")
        sure += not found["low"] <= 0 <= found["high"]
    assert sure <= 6


def test_uncertain_shares_widen_intervals():
    generator = np.random.default_rng(3)
    role = generator.choice(["a", "b"], 300)
    half = np.full((300, 2), 0.5)
    table, _ = ask(half, corpus(300, role=role), "~ role", n_draws=20)
    sure, _ = ask(half, corpus(300, role=role), "~ role", n_draws=20,
                  units=np.full(300, 10_000))  # fmt: skip
    wide, narrow = (effect(t, 1, "role=b") for t in (table, sure))
    assert wide["high"] - wide["low"] > 20 * (narrow["high"] - narrow["low"])
    again, _ = ask(half, corpus(300, role=role), "~ role", n_draws=20)
    assert again.equals(table)


def test_p_values_are_corrected_for_the_number_of_effects():
    generator = np.random.default_rng(4)
    columns = {f"x{i}": generator.normal(size=200) for i in range(8)}
    shares = generator.dirichlet(np.ones(3), 200)
    table, _ = ask(shares, corpus(200, **columns), "~ " + " + ".join(columns), n_draws=5)
    asked = table.filter(pl.col("term") != INTERCEPT)
    assert (asked["p_adjusted"] >= asked["p_value"]).all()
    assert asked["p_adjusted"].null_count() == 0
    assert table.filter(pl.col("term") == INTERCEPT)["p_adjusted"].null_count() == 3


def test_messages_without_values_are_left_out_and_counted():
    shares = one_hot([0, 1] * 20)
    threads = corpus(40, role=["a", "b", None, "a", "b"] * 8)
    known = np.arange(40) != 0
    with pytest.warns(UserWarning, match="8 of 39 messages lack a value"):
        table, asked = ask(shares, threads, "~ role", known=known)
    assert table["messages"].unique().to_list() == [31]
    assert 0 not in asked.rows


@pytest.mark.parametrize(
    ("formula", "groups", "said"),
    [
        ("role", None, "starts with ~"),
        ("share ~ role", None, "starts with ~"),
        ("~", None, "names no column"),
        ("~ role +", None, "cannot read"),
        ("~ mood", None, "no column 'mood'"),
        ("~ month", None, "needs times"),
        ("~ role", "mood", "no column 'mood'"),
        ("~ id", None, "groups='id'"),
        ("~ role + twin", None, "cannot be told apart"),
        ("~ tags", None, "has lists"),
        ("~ __import__('os').getcwd()", None, "may use columns"),
        ("~ log((exit)(3)(role))", None, "may use columns"),
        ("~ eval(role)", None, "may use columns"),
        ("~ role.__class__", None, "may use columns"),
        ("~ log(zero)", None, "no finite numbers"),
    ],
)
def test_mistakes(formula, groups, said):
    threads = corpus(
        80, role=["a", "b"] * 40, twin=["x", "y"] * 40, tags=[["a"]] * 80, zero=[0.0, 1.0] * 40
    )
    with pytest.raises(ParameterError, match=said):
        ask(one_hot([0, 1, 1, 0] * 20), threads, formula, groups)


def test_names_with_spaces_and_numbers_as_categories():
    threads = corpus(80, **{"my role": ["a", "b"] * 40, "level": [1, 2, 3, 1] * 20})
    table, _ = ask(one_hot([0, 1, 1, 0] * 20), threads, "~ `my role` + C(level)")
    assert ask(one_hot([0, 1, 1, 0] * 20), threads, "~ scale(level)")[0].height
    assert table["term"].unique(maintain_order=True).to_list() == [
        INTERCEPT, "my role=b", "level=2", "level=3"]  # fmt: skip


def test_a_model_and_its_picture():
    threads = pv.sample(30)
    model = pv.LDA(n_classes=3, n_sweeps=20).fit(threads)
    table = model.effects(threads, "~ topic", n_sweeps=5, n_draws=3)
    assert table["class"].unique().to_list() == [0, 1, 2]
    by_term = table.filter(pl.col("term") != INTERCEPT).group_by("term").agg(pl.sum("effect"))
    assert by_term["effect"].to_list() == pytest.approx([0.0] * by_term.height)
    picture = plot_effects(table, {2: "A", 0: "<b>asks</b>", 1: "C"})
    assert "&lt;b&gt;asks" in picture
    assert picture.index(">A<") < picture.index("&lt;b&gt;asks") < picture.index(">C<")
    assert "A " + model.summary().classes(3)["words"][0][:20] in model.plot_effects(table)
    assert picture.count("<circle") == 3 * by_term.height


def test_slopes_too_small_to_be_seen_get_a_scale_of_their_own():
    panels = [("role=b", ["A"], np.array([[0.2, 0.1, 0.3]])),
              ("topic=c", ["A"], np.array([[0.02, 0.01, 0.03]])),
              ("time", ["A"], np.array([[0.0002, 0.0001, 0.0003]]))]  # fmt: skip
    picture = str(interval_chart(panels, label="x"))
    assert [picture.count(f">{said} points<") for said in ("+32", "+3", "+0.03")] == [2, 0, 1]
    assert "A: +0.02 points (+0.01 to +0.03)" in picture
