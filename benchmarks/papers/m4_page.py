"""The page of the thread models' measurements: tables with intervals, and what was expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.papers import Options, m4
from benchmarks.papers.cells import Cell, Cells
from palaver.evaluate.bootstrap import (
    Difference,
    Interval,
    bootstrap,
    paired_bootstrap,
    perplexity,
)
from palaver.evaluate.threads import (
    first_parents,
    previous_parents,
    random_parents_accuracy,
    right_parents,
)

NAMES = {"lda": "LDA", "block-hmm": "block HMM", "m4": "M4"}
Results = Mapping[str, Any]
Rows = list[list[str]]
#: Corpus, K, and how M4 differs there from the block HMM.
Outcomes = list[tuple[str, int, Difference]]

_HEAD = """# M4, the block HMM and LDA on threads

Written by {command}, seed 0. Paper: Paul (2012), *Mixed membership
Markov models for unsupervised conversation modeling*, section 5. Models: [M4](../models/m4.md) with
the paper's transitions (`transition="softmax"`), [block HMM](../models/block_hmm.md),
[LDA](../models/lda.md). [Glossary](../glossary.md).{missing}
"""

_NOTES = """## What to make of it

**As in the paper**, M4 predicts words better than the block HMM by the paper's protocol, and LDA,
whose shares have seen the words, better than both. {replies}

{findings}

**The order changes without looking ahead.** Given its parent, M4 draws each word of a message
independently: nothing in the model ties the words of one message together. The block HMM's single
class and LDA's shares do, and the words of a message do go together, the more so the longer it is.
For the same reason, M4's classes of single words agree less with acts, which belong to whole
sentences and messages. We tested this explanation: with `transition="dirichlet"`, where every
message has its own shares around what its parent predicts, the same model has a lower perplexity
than the block HMM on every corpus tried, and a lower VI than the softmax
([M4 beyond the paper](m4_grown.md)). In the paper, M4 has the lower VI on CNET's forum; on
Switchboard, Brychcín & Král (2017) also found a lower V-measure for M4 than for the block HMM.

**M4's search for replies is one reason** why it does not always rebuild more of them: its classes
follow the random parents of the start and rarely let go of them, which a hot start remedies in
part. On {short}, both models are near chance with the background, which takes more than
half of the few words of a tweet away from M4.

**The paper's perplexities are not comparable with ours as printed.** Its table 1 gives 63.07 for
unigrams on CNET and 93.00 on Twitter, which is implausibly low for real text with thousands of
words. If the printed number is 2 to the power of an entropy that was measured in nats, the unigram
perplexities are 395 and 692, which is of the size of ours. This is our inference; the paper does
not say how it computed them. Compare models relative to the unigram: at K = 15 the paper has, on
CNET and Twitter, 0.97 and 0.96 for the block HMM, 0.94 and 0.92 for M4, 0.84 and 0.80 for LDA as
printed; read in this way, 0.95 and 0.95, 0.91 and 0.89, 0.78 and 0.72. Here, for
the block HMM, M4 and LDA: {relative}.

**Chains have not converged**: R-hat is near 2 in many rows ([below](#convergence)). The tables show
the {best} chains.
"""

_SETUP = """## Setup

{sizes} Conversations are split 75/25 (seed 0); everything except
[classes against acts](#classes-against-acts) is measured on the 25%. All three models have the
background of section 5.3, unless the table says *no background*. Samplers are collapsed, and the
best chain by log joint is the model. Brackets are 95% bootstrap intervals over conversations; *p*
is from a paired bootstrap of M4 against the block HMM. {other}
"""
#: What each size says in the notes; a quick run is not kept, and says what the full one does.
_REPLIES_FOUND = {
    "full": """M4 rebuilds more replies on r-help and 4forums,
where messages are long, and on tweets without the background. **Not as in the paper**, it rebuilds
fewer on the short messages of the sample, and its classes have a higher VI in nearly all rows.""",
    "paper": """M4 rebuilds a few more replies on tweets. **Not
as in the paper**, it rebuilds fewer on the short messages of the sample, and its classes have a
higher VI there.""",
}
_SHORT = {"full": "tweets and chat", "paper": "tweets"}
_OTHER_PAGE = {
    "full": """With the paper's 4 chains of 5,000 sweeps,
the sample and RumourEval are on [a page of their own](m4-paper.md); the other corpora would take
hours with these.""",
    "paper": """This page has the paper's number of
chains and sweeps on the two small corpora. RumourEval without background, r-help, ubuntu-irc, swda
and 4forums are left out to save time; they are on [the other page](m4.md), with 2
chains of 1,000 sweeps.""",
}

_PAPER = """## Perplexity, the paper's protocol

{n_sweeps} sweeps over the test conversations with frozen parameters, mean of the last ten. A word
is scored by the class shares that its parent's sampled classes predict; in LDA, by those of its own
message, which have seen the word. *Uniform* is the size of the vocabulary: words drawn at random.
*Whole messages* scores all words of a message by one class.
"""

_SEQUENTIAL = """## Perplexity without looking ahead

The likelihood of the words of a conversation, parents before replies: by particle filters with
{particles:,} particles for M4 and LDA, exact for the block HMM (whose messages then have one class,
as in *whole messages* above). Use this table to compare models.
"""

_REPLIES = """## Replies rebuilt

The share of messages with the right parent when all parents are hidden: {n_sweeps} annealed sweeps
(the temperature falls by a factor of 0.99 per sweep), mean of {n_restarts} random starts.
Candidates are all other messages of the conversation and the start; *random* picks one of these.
*Previous* and *first* message use the order of the messages, which the models do not see. The last
columns are not the paper's: *hot* starts at temperature 20 (factor 0.985 per sweep, one start);
*ordered* is the same with only earlier messages and the start as candidates.
"""

_ACTS = """## Classes against acts

Variation of information between the classes of words and the acts of their sentences (sample) or
messages, in bits; 0 is best. Words in the background have no class and are left out; *random*
draws classes uniformly for the words that have one. Models do not see acts. V-measure: the largest
class of each message against its act.
"""


def page_text(options: Options, kept: Cells, results: Results) -> str:
    """Return the page."""
    plan = m4.PLANS[options.size]
    done = [c for c in m4.cells(options, kept) if c.name in results]
    missing = len(m4.cells(options, kept)) - len(done)
    flag = "" if options.size == "full" else f" --{options.size}"
    command = f"`python -m benchmarks.papers m4 --data ../shared/data{flag}`"
    sizes = (
        f"{plan.n_chains} chains of {plan.n_sweeps:,} sweeps, K = "
        f"{', '.join(map(str, plan.classes))}{_fewer(plan)}."
    )
    note = f" {missing} of the run's cells are not computed yet." if missing else ""
    tables = {
        "paper": _perplexities(plan, results, "paper"),
        "sequential": _perplexities(plan, results, "sequential"),
        "replies": _replies(options, plan, results),
        "acts": _acts(plan, results),
    }
    outcomes = {name: found for name, (_, found) in tables.items()}
    kind = "paper" if options.size == "paper" else "full"
    parts = [
        _HEAD.format(command=command, missing=note),
        _NOTES.format(
            findings=_findings(outcomes),
            relative=_relative(plan, results),
            replies=_REPLIES_FOUND[kind],
            short=_SHORT[kind],
            best="better of two" if plan.n_chains == 2 else f"best of {plan.n_chains}",
        ),
        _SETUP.format(sizes=sizes, other=_OTHER_PAGE[kind]),
        *_corpora(options, kept, results, done),
        _PAPER.format(n_sweeps=plan.fold_sweeps),
        *tables["paper"][0],
        _SEQUENTIAL.format(particles=m4.judge.N_PARTICLES),
        *tables["sequential"][0],
        _REPLIES.format(n_sweeps=plan.fold_sweeps, n_restarts=plan.n_restarts),
        *tables["replies"][0],
        _ACTS,
        *tables["acts"][0],
        "## Convergence\n\nR-hat of the log joint after burn-in, and effective samples.\n",
        *_fits(plan, results),
    ]
    return "\n".join(parts)


def _fewer(plan: m4.Plan) -> str:
    """Say which corpora do without some numbers of classes, to save time."""
    groups: dict[tuple[int, ...], list[str]] = {}
    for name, classes in plan.fewer.items():
        groups.setdefault(classes, []).append(name)
    said = [
        f"only {' and '.join(map(str, classes))} on {', '.join(names)}"
        for classes, names in groups.items()
    ]
    return f" ({'; '.join(said)}, to save time)" if said else ""


def _findings(outcomes: Mapping[str, Outcomes]) -> str:
    """Say in a paragraph how M4 differs from the block HMM by each measure."""
    scales = {"paper": (1, "", "perplexity, the paper's protocol"),
              "sequential": (1, "", "perplexity without looking ahead"),
              "replies": (100, " points", "replies rebuilt, where more is better"),
              "acts": (1, " bits", "VI against acts")}  # fmt: skip
    lines = ["M4 minus the block HMM, from the smallest to the largest K:", ""]
    for name, (scale, unit, what) in scales.items():
        by_corpus: dict[str, list[str]] = {}
        for corpus, _, against in outcomes[name]:
            digits = 2 if name == "acts" else 1
            by_corpus.setdefault(corpus, []).append(f"{scale * against.difference:+.{digits}f}")
        if by_corpus:
            said = "; ".join(f"{c} {', '.join(values)}" for c, values in by_corpus.items())
            lines.append(f"- *{what}*{f' (in{unit})' if unit else ''}: {said}.")
    return "\n".join(lines)


def _relative(plan: m4.Plan, results: Results) -> str:
    """Say what perplexities are relative to unigrams, for the middle K."""
    n_classes = plan.classes[len(plan.classes) // 2]
    found = []
    for name in plan.sources:
        one = _logs(results, f"{name}/unigram", "paper")
        logs = [_logs(results, f"{name}/{m}/{n_classes}/perplexity", "paper")
                for m in ("block-hmm", "m4", "lda")]  # fmt: skip
        if one is None or any(value is None for value in logs):
            continue
        base = bootstrap(one, perplexity).value
        shares = ", ".join(f"{bootstrap(value, perplexity).value / base:.2f}" for value in logs)
        found.append(f"{name} {shares}")
    return "; ".join(found) or "nothing yet"


def _table(head: Sequence[str], rows: Rows) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _shown(interval: Interval, digits: int) -> str:
    value, low, high = (f"{number:.{digits}f}" for number in interval)
    return f"{value} [{low}, {high}]"


def _p(difference: Difference) -> str:
    return "< 0.001" if difference.p_value < 0.001 else f"{difference.p_value:.3f}"


def _corpora(options: Options, kept: Cells, results: Results, done: list[Cell]) -> list[str]:
    rows = []
    for name, source in m4.PLANS[options.size].sources.items():
        fit = next((results[c.name] for c in done if c.name.startswith(f"{name}/lda")), None)
        if fit is None:
            continue
        cut = f"the first {source.n_conversations:,}" if source.n_conversations else "all"
        words = results.get(f"{name}/unigram", {}).get("words", [])
        rows.append(
            [name, cut, f"{fit['n_conversations']:,}", f"{fit['n_messages']:,}",
             f"{fit['n_tokens']:,}", f"{fit['n_words']:,}", f"{len(words):,}", f"{sum(words):,}"]
        )  # fmt: skip
    head = ["corpus", "conversations used", "training conversations", "messages", "words",
            "vocabulary", "test conversations", "known words"]  # fmt: skip
    return [_table(head, rows), _times(kept, done)]


def _times(kept: Cells, done: list[Cell]) -> str:
    """Say how long the run takes; its processor time hardly depends on other work."""
    busy, clock = kept.processor_seconds(done) / 60, kept.seconds(done) / 60
    return (
        f"All fits and measurements took {busy:.0f} minutes of processor time ({clock:.0f} minutes "
        "by the clock, on a busy machine with two cores).\n"
    )


def _logs(results: Results, place: str, method: str) -> np.ndarray | None:
    """Return (log likelihood, words) of each test conversation."""
    result = results.get(place)
    if result is None or method not in result:
        return None
    return np.column_stack((result[method], result["words"])).astype(float)


def _perplexities(plan: m4.Plan, results: Results, method: str) -> tuple[list[str], Outcomes]:
    rows, outcomes = [], []
    methods = {"lda": method, "block-hmm": method, "m4": method}
    for name in plan.sources:
        one = _logs(results, f"{name}/unigram", method)
        for n_classes in plan.classes_of(name):
            places = {m: f"{name}/{m}/{n_classes}/perplexity" for m in methods}
            logs = {m: _logs(results, places[m], how) for m, how in methods.items()}
            if one is None or any(value is None for value in logs.values()):
                continue
            size = results[places["m4"]]["vocabulary"]
            cells = [_shown(bootstrap(logs[m], perplexity), 1) for m in methods]
            if method == "paper":
                blocks = _logs(results, places["block-hmm"], "blocks")
                cells.insert(2, _shown(bootstrap(blocks, perplexity), 1))
            against = paired_bootstrap(logs["m4"], logs["block-hmm"], perplexity)
            outcomes.append((name, n_classes, against))
            unigram = _shown(bootstrap(one, perplexity), 1)
            rows.append(
                [name, str(n_classes), f"{size:,}", unigram, *cells,
                 f"{against.difference:+.1f} [{against.low:+.1f}, {against.high:+.1f}]",
                 _p(against)]
            )  # fmt: skip
    blocks = ["block HMM, whole messages"] if method == "paper" else []
    head = ["corpus", "K", "uniform", "unigram", "LDA", "block HMM", *blocks, "M4",
            "M4 − block HMM", "p"]  # fmt: skip
    said = _verdict("M4 has a lower perplexity than the block HMM", outcomes, -1)
    return [_table(head, rows), said], outcomes


def _verdict(claim: str, outcomes: Outcomes, sign: int) -> str:
    """Say where a claim of the paper, about the sign of the differences, holds."""
    held = [o for o in outcomes if sign * o[2].difference > 0]
    sure = [o for o in held if o[2].p_value < 0.05]
    text = f"{claim} in {len(held)} of {len(outcomes)} rows, beyond noise in {len(sure)}."
    failed: dict[str, list[str]] = {}
    for name, n_classes, _ in [o for o in outcomes if o not in held]:
        failed.setdefault(name, []).append(str(n_classes))
    where = "; ".join(f"{name} (K = {', '.join(sizes)})" for name, sizes in failed.items())
    return text + (f" Exceptions: {where}." if where else "") + "\n"


def _replies(options: Options, plan: m4.Plan, results: Results) -> tuple[list[str], Outcomes]:
    rows, outcomes = [], []
    for name in plan.sources:
        if not any(f"{name}/m4/{k}/replies" in results for k in plan.classes_of(name)):
            continue
        test = m4.split_of(options, name)[1]
        offsets, gold = test.conversation_offsets, test.parents
        lengths = np.diff(offsets)
        chance = np.column_stack((np.ones(len(lengths)), lengths))
        baselines = [_shown(bootstrap(chance), 3)]
        baselines += [
            _shown(bootstrap(right_parents(found(offsets), gold, offsets)), 3)
            for found in (previous_parents, first_parents)
        ]
        for n_classes in plan.classes_of(name):
            both = [results.get(f"{name}/{m}/{n_classes}/replies") for m in ("block-hmm", "m4")]
            if None in both:
                continue
            block, own = (np.column_stack((run["any"]["mean"], lengths)) for run in both)
            against = paired_bootstrap(own, block)
            outcomes.append((name, n_classes, against))
            further = [
                _shown(bootstrap(np.column_stack((run[how]["mean"], lengths))), 3)
                for how in ("hot", "ordered")
                for run in both
            ]
            further.insert(2, f"{random_parents_accuracy(offsets, 'time'):.3f}")
            rows.append(
                [name, str(n_classes), *baselines, _shown(bootstrap(block), 3),
                 _shown(bootstrap(own), 3),
                 f"{against.difference:+.3f} [{against.low:+.3f}, {against.high:+.3f}]",
                 _p(against), *further]
            )  # fmt: skip
    head = ["corpus", "K", "random", "previous message", "first message", "block HMM", "M4",
            "M4 − block HMM", "p", "block HMM, hot", "M4, hot", "random earlier",
            "block HMM, ordered", "M4, ordered"]  # fmt: skip
    said = _verdict("M4 rebuilds more replies than the block HMM", outcomes, 1)
    return [_table(head, rows), said], outcomes


def _acts(plan: m4.Plan, results: Results) -> tuple[list[str], Outcomes]:
    rows, outcomes = [], []
    for name in plan.sources:
        for n_classes in plan.classes_of(name):
            result = results.get(f"{name}/{n_classes}/acts")
            if result is None:
                continue
            against = Difference(*result["difference"])
            outcomes.append((name, n_classes, against))
            vi = [_shown(Interval(*result["vi"][m]), 2) for m in NAMES]
            v = [
                _shown(Interval(*i), 3) for m in NAMES if (i := result.get("v_measure", {}).get(m))
            ]
            shares = [results[f"{name}/{m}/{n_classes}/acts"]["background"] for m in NAMES]
            rows.append(
                [name, str(n_classes), _shown(Interval(*result["random"]), 2), *vi,
                 f"{against.difference:+.2f} [{against.low:+.2f}, {against.high:+.2f}]",
                 _p(against), ", ".join(f"{share:.0%}" for share in shares),
                 *(v or ["–"] * len(NAMES))]
            )  # fmt: skip
    head = ["corpus", "K", "random", *NAMES.values(), "M4 − block HMM", "p",
            "in the background", *(f"V-measure {name}" for name in NAMES.values())]  # fmt: skip
    text = _verdict("M4 has a lower VI than the block HMM", outcomes, -1)
    return [_table(head, rows), text, _topics(plan, results)], outcomes


def _topics(plan: m4.Plan, results: Results) -> str:
    """Say how far the classes of the sample are topics rather than acts."""
    found = []
    for n_classes in plan.classes_of("sample"):
        runs = [results.get(f"sample/{m}/{n_classes}/acts", {}).get("topic") for m in NAMES]
        if None not in runs:
            values = (f"{name} {run:.3f}" for name, run in zip(NAMES.values(), runs, strict=True))
            found.append(f"K = {n_classes}: {', '.join(values)}")
    if not found:
        return ""
    return (
        "To what extent classes are topics instead: V-measure of the same words' classes against "
        f"the topic of their thread, on the sample. {'; '.join(found)}.\n"
    )


def _fits(plan: m4.Plan, results: Results) -> list[str]:
    rows = []
    for name in plan.sources:
        for n_classes in plan.classes_of(name):
            fits = [results.get(f"{name}/{m}/{n_classes}/fit") for m in NAMES]
            if None in fits:
                continue
            rows.append(
                [name, str(n_classes)]
                + [f"{fit['r_hat']:.2f}, {fit['effective_samples']:.0f}" for fit in fits]
            )
    return [_table(["corpus", "K", *NAMES.values()], rows)]
