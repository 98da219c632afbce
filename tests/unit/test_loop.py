"""The fitting loop on a toy engine: order, samples, checkpoints, kills, schedules, diagnostics."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from palaver.errors import PalaverWarning, StoreError
from palaver.fit import (
    Interrupted,
    Schedule,
    convergence,
    effective_sample_size,
    r_hat,
    run,
    trace_table,
)
from palaver.fit.checkpoint import Checkpoints, Snapshot
from palaver.fit.stream import Rates, run_stream
from palaver.fit.trace import STILL_CLIMBING, late_gain
from palaver.kernels.random import uniforms
from palaver.parallel import Globals, LocalExecutor

SHARDS = [(0, 5), (5, 9), (9, 20)]  # (first, last) conversation


class Toy:
    """A random walk in every conversation towards a mean that all share."""

    def start(self, generator):
        return Globals("walk", {"mean": generator.standard_normal(2)})

    def open(self, shared, shard, key):
        return {"x": np.array([uniforms(key, c, 2) for c in range(*shard)])}

    def sweep(self, shared, shard, state, key):
        noise = np.array([uniforms(key, c, 2) for c in range(*shard)]) - 0.5
        state["x"] *= 0.9
        state["x"] += 0.1 * shared.arrays["mean"] + noise * shared.temperature
        return {"sum": state["x"].sum(axis=0), "order": np.array([shard[0]])}

    def merge(self, left, right):
        return {
            "sum": left["sum"] + right["sum"],
            "order": np.concatenate((left["order"], right["order"])),
        }

    def update(self, shared, statistics, generator):
        assert statistics["order"].tolist() == [0, 5, 9]  # merged in shard order
        mean = statistics["sum"] / 20 + 0.01 * generator.standard_normal(2)
        return Globals("walk", {"mean": mean}), {"log_joint": float(-(mean**2).sum())}

    def sample(self, shared, statistics):
        return {"mean": shared.arrays["mean"], "big": np.zeros(200_000)}


def fit(n_jobs=1, n_sweeps=12, n_chains=2, **options):
    schedule = options.pop("schedule", Schedule(n_sweeps, 4, 2))
    return run(Toy(), SHARDS, LocalExecutor(n_jobs), schedule, seed=3, n_chains=n_chains, **options)


def result(done):
    return (
        done.sweep,
        [chain.trace for chain in done.chains],
        [chain.shared.arrays["mean"].tobytes() for chain in done.chains],
        [chain.mean()["mean"].tobytes() for chain in done.chains],
        [np.stack(chain.draws["mean"]).tobytes() for chain in done.chains],
    )


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_same_bytes_for_any_number_of_workers(n_jobs):
    assert result(fit(n_jobs)) == result(fit(1))


def test_chains_differ_and_the_first_does_not_depend_on_the_others():
    two, one = fit(n_chains=2), fit(n_chains=1)
    assert two.chains[0].trace == one.chains[0].trace
    assert two.chains[0].trace != two.chains[1].trace


def test_samples_follow_burn_in_and_thinning():
    chain = fit(n_sweeps=12).chains[0]
    assert chain.n_samples == 4  # sweeps 6, 8, 10, 12
    assert len(chain.draws["mean"]) == 4
    np.testing.assert_allclose(chain.mean()["mean"], np.mean(chain.draws["mean"], axis=0))
    assert "big" not in chain.draws  # large arrays are summed only
    assert chain.mean()["big"].shape == (200_000,)


@pytest.mark.parametrize("stop_at", [1, 5, 6, 11])
def test_stopped_and_resumed_equals_uninterrupted(tmp_path, stop_at):
    whole = result(fit())
    folder = tmp_path / "run"
    fit(checkpoints=Checkpoints(folder, 1e9, {"a": 1}), callbacks=[lambda s, c: s == stop_at])
    resumed = fit(n_jobs=2, checkpoints=Checkpoints(folder, 1e9, {"a": 1}))
    assert result(resumed) == whole


def test_a_finished_run_goes_on_with_more_sweeps(tmp_path):
    checkpoints = Checkpoints(tmp_path, 1e9, {})
    fit(n_sweeps=12, checkpoints=checkpoints)
    longer = fit(n_sweeps=20, checkpoints=Checkpoints(tmp_path, 1e9, {}))
    assert result(longer) == result(fit(n_sweeps=20))


def test_a_continued_run_keeps_its_burn_in_and_thinning(tmp_path):
    first = Checkpoints(tmp_path, 1e9, {})
    fit(schedule=first.schedule(Schedule(12, 4, 2)), checkpoints=first)
    again = Checkpoints(tmp_path, 1e9, {})
    assert again.schedule(Schedule(100, 50, 5)) == Schedule(100, 4, 2)
    with pytest.raises(StoreError, match="burn_in can no longer be changed"):
        again.schedule(Schedule(100, 50, 5), explicit=True)


def test_before_the_first_sample_the_burn_in_may_change(tmp_path):
    first = Checkpoints(tmp_path, 1e9, {})
    schedule = first.schedule(Schedule(100, 50, 5))
    fit(schedule=schedule, checkpoints=first, callbacks=[lambda sweep, chains: sweep == 9])
    again = Checkpoints(tmp_path, 1e9, {})
    assert again.schedule(Schedule(12, 6, 1)) == Schedule(12, 6, 1)


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    fit(checkpoints=Checkpoints(tmp_path, 1e9, {"n_classes": 3}))
    with pytest.raises(StoreError, match="n_classes = 3, not 4"):
        fit(checkpoints=Checkpoints(tmp_path, 1e9, {"n_classes": 4}))


def test_a_damaged_checkpoint_falls_back_to_the_one_before(tmp_path):
    fit(checkpoints=Checkpoints(tmp_path, 0.0, {}), n_sweeps=12)
    newest = max(tmp_path.glob("arrays-*"), key=lambda p: (p.stat().st_mtime_ns, p.name))
    for path in newest.glob("state*"):
        path.write_bytes(b"x")
    checkpoints = Checkpoints(tmp_path, 1e9, {})
    with pytest.warns(PalaverWarning, match="newest checkpoint is damaged"):
        again = fit(n_sweeps=12, checkpoints=checkpoints)
    assert result(again) == result(fit(n_sweeps=12))


def test_checkpoints_take_a_small_share_of_the_time(tmp_path, monkeypatch):
    """If one takes long to gather and write, the next waits: three of 0.5 s are 2% of 75 s.

    The third is the one at the end of the run, which may be right after.
    """
    clock = [0.0]
    monkeypatch.setattr("palaver.fit.checkpoint.time.monotonic", lambda: clock[0])
    checkpoints = Checkpoints(tmp_path, 10.0, {})

    def write(*arguments, **options):
        clock[0] += 0.2

    def gather():
        clock[0] += 0.3
        return Snapshot(1, {}, [], [], [], [], [], [])

    monkeypatch.setattr("palaver.fit.checkpoint.store.save", write)
    checkpoints.try_save(gather)
    clock[0] = 74.9
    assert not checkpoints.due()
    clock[0] = 75.1
    assert checkpoints.due()
    checkpoints.try_save(gather)
    checkpoints.try_save(gather)
    assert 3 * 0.5 / clock[0] < 0.02
    clock[0] = 124.9
    assert not checkpoints.due()
    clock[0] = 125.1
    assert checkpoints.due()


def test_a_run_survives_a_checkpoint_that_cannot_be_written(tmp_path, monkeypatch):
    import palaver.fit.checkpoint as module

    plain, tries = module.store.save, []

    def sometimes(*arguments, **options):
        tries.append(1)
        if len(tries) == 3:
            raise StoreError("run: cannot be written (the disk is full; make room and try again)")
        plain(*arguments, **options)

    monkeypatch.setattr(module.store, "save", sometimes)
    with pytest.warns(PalaverWarning, match=r"no checkpoint of sweep 3.*disk is full"):
        done = fit(n_sweeps=12, checkpoints=Checkpoints(tmp_path, 0.0, {}))
    assert result(done) == result(fit(n_sweeps=12))
    assert Checkpoints(tmp_path, 0.0, {}).load().sweep == 12


CHILD = """
    import sys, time
    sys.path[:0] = [{tests!r}, {here!r}]
    from test_loop import Checkpoints, Toy, SHARDS, LocalExecutor, Schedule, result, run
    done = run(Toy(), SHARDS, LocalExecutor(2), Schedule(60, 4, 2), seed=3, n_chains=2,
               checkpoints=Checkpoints(sys.argv[1], 0.0, {{}}),
               callbacks=[lambda s, c: print(s, flush=True) or time.sleep(0.002)])
"""


def test_killed_at_random_moments_and_resumed_equals_uninterrupted(tmp_path):
    here = os.path.dirname(__file__)
    script = textwrap.dedent(CHILD).format(here=here, tests=os.path.dirname(here))
    pauses = np.random.default_rng(1).uniform(0.0, 0.12, 5)
    for pause in pauses:
        child = subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE
        )
        child.stdout.readline()
        time.sleep(pause)
        child.kill()
        child.communicate()
    resumed = fit(n_sweeps=60, checkpoints=Checkpoints(tmp_path, 1e9, {}))
    assert result(resumed) == result(fit(n_sweeps=60))


def test_ctrl_c_stops_after_a_whole_sweep_and_keeps_it(tmp_path):
    def interrupt(sweep, chains):
        if sweep == 5:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted, match="after sweep 5 of 12; resume"):
        fit(checkpoints=Checkpoints(tmp_path, 1e9, {}), callbacks=[interrupt])
    assert signal.getsignal(signal.SIGINT) is before
    assert result(fit(checkpoints=Checkpoints(tmp_path, 1e9, {}))) == result(fit())


def test_second_ctrl_c_stops_at_once():
    def interrupt(sweep, chains):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as caught:
        fit(callbacks=[interrupt])
    assert not isinstance(caught.value, Interrupted)


def test_time_budget_ends_a_fit():
    done = fit(
        schedule=Schedule(10**6, 4, 2, max_seconds=0.2),
        callbacks=[lambda sweep, chains: time.sleep(0.01)],
    )
    assert 4 < done.sweep < 1000
    assert not done.finished


def test_best_chain_has_the_highest_mean_log_joint():
    done = fit()
    means = [
        np.mean([chain.trace[s - 1]["log_joint"] for s in (6, 8, 10, 12)]) for chain in done.chains
    ]
    assert done.best == int(np.argmax(means))


def test_samples_are_the_last_of_every_few_sweeps():
    assert [sweep for sweep in range(1, 14) if Schedule(13, 4, 3).keeps(sweep)] == [7, 10, 13]
    assert Schedule.make(100, n_samples=10) == Schedule(100, 50, 5)
    assert Schedule.make(100, burn_in=100) == Schedule(100, 99, 1)


def test_annealing_falls_to_one():
    schedule = Schedule(100, 50, anneal=0.5, start_temperature=10)
    temperatures = [schedule.temperature(sweep) for sweep in range(1, 101)]
    assert temperatures[0] == 10
    assert all(a >= b for a, b in pairwise(temperatures))
    assert temperatures[26:] == [1.0] * 74
    hot = fit(schedule=Schedule(12, 4, 2, anneal=1.0, start_temperature=5))
    assert result(hot) != result(fit())


@pytest.mark.parametrize(("n_documents", "scale"), [(5, 5.0), (40, 1.0)])
def test_a_batch_stands_for_all_documents_and_never_for_fewer_than_itself(n_documents, scale):
    class Counter:
        n_document_terms = 1

        def phase(self, step, whole):
            return "step"

        def open(self, shared, shard, key):
            return {}

        def sweep(self, shared, shard, state, key):
            return {"terms": np.ones(1)}

        def step(self, shared, statistics, rate, scale):
            scales.append((rate, scale))
            return Globals("step", {"steps": shared.arrays["steps"] + 1}), {}

    scales = []
    batch = SimpleNamespace(n_documents=n_documents, n_tokens=1)
    empty = SimpleNamespace(n_documents=3, n_tokens=0)
    start = Globals("step", {"steps": np.array(0)})
    run_stream(
        Counter(), start, [empty, batch], lambda batch: [(0, 1)], LocalExecutor(1),
        seed=0, rate=Rates(delay=3, decay=0.5).at, total=lambda seen: 25,
    )  # fmt: skip
    assert scales == [(0.5, scale)]


def test_trace_is_a_table():
    table = trace_table([chain.trace for chain in fit().chains])
    assert table.columns == ["chain", "sweep", "log_joint"]
    assert table.height == 24


def ar1(correlation, n, seed):
    noise = np.random.default_rng(seed).standard_normal(n)
    x = np.zeros(n)
    for i in range(1, n):
        x[i] = correlation * x[i - 1] + noise[i]
    return x


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_effective_sample_size_of_known_chains(correlation):
    draws = np.array([ar1(correlation, 5000, seed) for seed in range(4)])
    truth = 20_000 * (1 - correlation) / (1 + correlation)
    assert abs(effective_sample_size(draws) / truth - 1) < 0.15


def naive_sample_size(draws):
    """Add up pairs of autocorrelations while they are positive, none above the one before."""
    half = draws.shape[1] // 2
    halves = np.concatenate((draws[:, :half], draws[:, -half:]))
    m, n = halves.shape
    centred = halves - halves.mean(axis=1, keepdims=True)
    within = halves.var(axis=1, ddof=1).mean()
    total = within * (n - 1) / n + halves.mean(axis=1).var(ddof=1)

    def correlation(lag):
        products = centred[:, : n - lag] * centred[:, lag:]
        return 1 - (within - products.sum(axis=1).mean() / (n - 1)) / total if lag else 1.0

    length, least = -1.0, np.inf
    for lag in range(0, n - 1, 2):
        pair = correlation(lag) + correlation(lag + 1)
        if pair < 0:
            break
        least = min(least, pair)
        length += 2 * least
    return m * n / max(length, 1 / np.log10(m * n))


def test_effective_sample_size_against_a_naive_twin():
    waves = np.cos(np.arange(400) * 2 * np.pi / 10)
    for draws in (
        np.array([ar1(0.9, 400, seed) for seed in range(3)]),
        np.array([ar1(0.98, 400, seed) + 2 * waves for seed in range(3)]),  # pairs fall and rise
        np.array([ar1(-0.6, 400, seed) for seed in range(2)]),
    ):
        assert effective_sample_size(draws) == pytest.approx(naive_sample_size(draws), rel=1e-9)


def test_r_hat_tells_mixed_from_unmixed():
    chains = np.array([ar1(0.3, 2000, seed) for seed in range(4)])
    assert r_hat(chains) < 1.01
    assert r_hat(chains + np.arange(4)[:, None]) > 1.2
    drifting = chains + np.linspace(0, 3, 2000)
    assert r_hat(drifting) > 1.2
    assert np.isnan(r_hat([[1.0, 2.0]]))
    assert r_hat(np.ones((2, 10))) == 1.0


def test_r_hat_gives_equal_draws_their_mean_rank():
    coins = np.random.default_rng(0).integers(0, 2, (4, 500))
    assert r_hat(coins) < 1.01  # ranks by position would tell the chains apart
    assert r_hat(coins[::-1]) == pytest.approx(r_hat(coins), abs=1e-12)
    stuck = np.repeat([[1.0], [2.0]], 20, axis=1)
    assert r_hat(stuck) > 1000


def test_a_chain_that_climbs_to_its_end_is_told_from_one_that_settled():
    sweeps = np.arange(200.0)
    assert late_gain(sweeps) == pytest.approx(50 / 189.5)
    assert late_gain(1 - np.exp(-sweeps / 10) + 0.01 * ar1(0.3, 200, 0)) < STILL_CLIMBING / 2
    assert late_gain(-sweeps) == 0
    assert np.isnan(late_gain(sweeps[:19]))
    table = trace_table([[{"log_joint": value} for value in sweeps]] * 2)
    assert convergence(table, burn_in=100)["late_gain"] == late_gain(sweeps)


def test_convergence_of_a_short_trace_is_not_a_number():
    table = trace_table([chain.trace for chain in fit().chains])
    assert np.isnan(convergence(table, burn_in=11)["r_hat"])
    assert convergence(table, burn_in=0)["effective_samples"] > 0
