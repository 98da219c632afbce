"""The page of M4 beyond the paper: what to make of it, and one table a corpus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.papers import Options, m4_grown
from benchmarks.papers.m4_grown_replies import replies_text
from palaver.evaluate.bootstrap import bootstrap, paired_bootstrap, perplexity

_HEAD = """# M4 beyond the paper

{command} writes this page. Which extensions of M4 ([what they
are](../models/m4.md#beyond-the-paper)) predict words better, and whose classes agree better with
acts? {sizes} Conversations are split 75/25 (seed 0); models learn from the 75 %. *Perplexity* is
that of a word of the 25 % without looking ahead, by particle filters with {particles} particles,
lower is better; brackets are 95 % bootstrap intervals over conversations; *p* is that of a paired
bootstrap against the paper's M4. *VI* (bits, lower is better) and *V, words* compare the classes
of words with the acts of their sentences (sample) or messages; words without a class are left
out, *classed* says how many have one. *V, messages* compares the largest class of each message
with its act. *Topics* is the share of words that went to topics (20 of them). *R-hat* is of the
log joint after burn-in; *CPU* the seconds of the fit. Features are `same_speaker` and `position`.
Models see no acts. [The words used here](../glossary.md).{missing}
"""

_NOTES = """## What to make of it

**Ties within messages are what M4 lacked.** With `transition="dirichlet"` a message may deviate
from what its parent predicts, and all of its words do so together. This closes the gap to LDA: on
every corpus here it predicts words better than the paper's M4 and the block HMM, and as well as
LDA or better, and more words have a class: on Switchboard, where the paper's M4 leaves four words
of five in the background, four of five have one, and its classes of messages agree with acts as
well as the block HMM's.

**Without topics the block HMM is hard to beat.** By *V, words* it is at least as good as an M4 that
gives each word its class and has no topics, on every corpus here, and clearly better on the forum
and on Switchboard. With Dirichlet transitions and topics M4 is ahead on the forum, on tweets and in
meetings; on Switchboard the block HMM stays ahead, and only one class per sentence with topics
draws level.

**Topics** take the words about the subject (printer, password) out of the classes: perplexity falls
on the forum, on tweets and on Switchboard. Classes agree clearly better with acts on the forum,
where each thread has a subject of its own, and a little better by V (not by VI) on tweets. In calls
and meetings, with Dirichlet transitions, they gain little or nothing: callers chat about all sorts
of things, and twelve meetings are few conversations to learn topics from.

**One class per sentence** predicts words best where messages have several sentences, and its
classes of words agree well with the acts of sentences. The class of a message as a whole is then
less well defined on the forum (*V, messages*): a greeting or thanks may be its largest part.

**Features** help where replies say little: on Switchboard and in meetings, where a message answers
the one before it by construction, who speaks matters to every measure of the paper's M4, and to the
words with Dirichlet transitions. On the forum and on tweets they do little for the paper's M4.

**Features help little to find replies**, where the order is known: some points on mails, less
elsewhere, and M4 stays behind the simplest guess that suits the corpus. A feature says what classes
a reply has, so a candidate gains only by the classes that it makes likely.
[Rebuilding threads](../threads.md) weighs speakers and gaps themselves, and learns how much.

R-hat of two chains is as far from one as for the other thread models: the better chain is shown,
and small differences between rows are not to be trusted.

So Dirichlet transitions are [the default](../models/m4.md#the-default-is-not-the-papers); rows
without the word are the paper's, `transition="softmax"`, whose sweep is
[faster](../performance.md#m4-beyond-the-paper). Topics are not the default, because they turn
classes into acts only where conversations differ in subject; there these results advise
`M4(topics=20)`, and `M4(segment="sentence", topics=20)` for acts of sentences.
"""


def page_text(options: Options, results: Mapping[str, Any]) -> str:
    """Return the page."""
    plan = m4_grown.PLANS[options.size]
    names = [f"{name}/{variant}" for name in plan.sources for variant in m4_grown.VARIANTS]
    missing = sum(name not in results for name in names)
    flag = "" if options.size == "full" else f" --{options.size}"
    chains = "chain" if plan.n_chains == 1 else "chains"
    parts = [
        _HEAD.format(
            command=f"`python -m benchmarks.papers m4_grown --data ../shared/data{flag}`",
            sizes=f"K = {plan.n_classes}, {plan.n_chains} {chains} of {plan.n_sweeps:,} sweeps, "
            "collapsed samplers, the best chain is the model.",
            particles=m4_grown.N_PARTICLES,
            missing=f" {missing} of {len(names)} rows are not computed yet." if missing else "",
        ),
        _NOTES,
    ]
    for name, source in plan.sources.items():
        rows = {
            variant: results[f"{name}/{variant}"]
            for variant in m4_grown.VARIANTS
            if f"{name}/{variant}" in results
        }
        if rows:
            n = source.n_conversations
            used = "" if n is None else f", the first {n} conversations"
            parts.append(f"## {name}{used}\n\n{_table(rows)}\n")
    found = replies_text(results)
    return "\n".join([*parts, found]) if found else "\n".join(parts)


def _table(rows: Mapping[str, Any]) -> str:
    """Return the table of one corpus."""
    head = ["model", "perplexity", "p", "VI", "V, words", "V, messages", "classed", "topics",
            "R-hat", "CPU"]  # fmt: skip
    lines = [head, ["---"] * len(head)]
    for variant, row in rows.items():
        sums = np.column_stack((row["log_likelihoods"], row["words"]))
        value = bootstrap(sums, perplexity)
        against = ""
        if variant != "M4" and "M4" in rows:
            plain = np.column_stack((rows["M4"]["log_likelihoods"], rows["M4"]["words"]))
            p = paired_bootstrap(sums, plain, perplexity).p_value
            against = "< 0.001" if p < 0.001 else f"{p:.3f}"
        lines.append([
            variant, f"{value.value:.1f} [{value.low:.1f}, {value.high:.1f}]", against,
            f"{row['vi']:.2f}", f"{row['v_words']:.3f}", f"{row['v_messages']:.3f}",
            f"{row['classed']:.0%}", f"{row['topics']:.0%}" if row["topics"] else "",
            f"{row['r_hat']:.2f}", f"{row['cpu_seconds']:.0f} s",
        ])  # fmt: skip
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
