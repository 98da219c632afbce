"""The page on M4 beyond the paper: findings, and one table per corpus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.papers import Options, m4_grown
from benchmarks.papers.m4_grown_replies import replies_text
from palaver.evaluate.bootstrap import bootstrap, paired_bootstrap, perplexity

_HEAD = """# M4 beyond the paper

Written by {command}.
Which [extensions of M4](../models/m4.md#beyond-the-paper) predict words better, and whose classes
agree better with acts? [Glossary](../glossary.md).{missing}
"""

_SETUP = """## Setup

{sizes}
Conversations are split 75/25 (seed 0), and models learn from the 75%. They never see acts. The
features are `same_speaker` and `position`.

- *Perplexity*: per word of the other 25%, without looking ahead, by particle filters with
  {particles} particles; lower is better. Brackets are 95% bootstrap intervals over conversations.
- *p*: from a paired bootstrap against the paper's M4.
- *VI* (in bits, lower is better) and *V, words*: agreement of the words' classes with the acts of
  their sentences (sample) or messages. Words without a class are left out; *classed* is the share
  of words that have one.
- *V, messages*: agreement of each message's largest class with its act.
- *Topics*: share of words assigned to the 20 topics.
- *R-hat*: of the log joint after burn-in. *CPU*: processor time of the fit.
"""

_NOTES = """## What to make of it

**M4 needed the words of a message to vary together.** With `transition="dirichlet"` a message can
deviate from what its parent predicts, and all its words deviate together. This closes the gap to
LDA: on every corpus here it predicts words better than the paper's M4 and the block HMM, and as
well as LDA or better. More words also have a class: on Switchboard, the paper's M4 leaves most
words in the background (*classed*), whereas here four out of five have a class, and the classes of
messages agree with acts as well as the block HMM's.

**Without topics, the block HMM is hard to beat.** By *V, words* it is at least as good, on every
corpus here, as any M4 that gives each word a class and has no topics, and clearly better on the
forum and on Switchboard. With Dirichlet transitions and topics, M4 is ahead on the forum, on tweets
and in meetings. On Switchboard the block HMM stays ahead; only one class per sentence with topics
draws level.

**Topics** take subject words (printer, password) out of the classes: perplexity falls on the forum,
on tweets and on Switchboard. Agreement with acts improves clearly on the forum, where each thread
has its own subject, and slightly on tweets by V (but not by VI). In calls and meetings, with
Dirichlet transitions, topics gain little or nothing: callers chat about all sorts of things, and
twelve meetings are not many to learn topics from.

**One class per sentence** predicts words best where messages have several sentences, and its word
classes agree well with the acts of sentences. On the forum, the class of a whole message is then
less well defined (*V, messages*): its largest part may be a greeting or thanks.

**Features** help where replies say little. On Switchboard and in meetings, where each message
replies to the previous one by construction, knowing who speaks improves every measure of the
paper's M4, and word prediction with Dirichlet transitions. On the forum they help the paper's M4
somewhat, on tweets hardly at all.

**Features hardly help to find replies** when the order is known: a few points on mails, less
elsewhere, and M4 remains behind the simplest guess that suits the corpus. A feature only says which
classes a reply tends to have, so a candidate gains only through the classes it makes likely.
[Rebuilding threads](../threads.md) weighs speakers and time gaps directly, and learns how much.

**Do not read much into small differences.** R-hat of two chains is as far from one as for the other
thread models; the tables show the better chain.

We therefore made Dirichlet transitions
[the default](../models/m4.md#the-default-is-not-the-papers). Rows of M4 that do not say *dirichlet*
use the paper's `transition="softmax"`, whose sweeps are
[faster](../performance.md#m4-beyond-the-paper). Topics are not the default, because they turn
classes into acts only where conversations differ in subject. For such corpora we recommend
`M4(n_topics=20)`, or `M4(unit="sentence", n_topics=20)` for the acts of sentences.
"""


def page_text(options: Options, results: Mapping[str, Any]) -> str:
    """Return the text of the page."""
    plan = m4_grown.PLANS[options.size]
    names = [f"{name}/{variant}" for name in plan.sources for variant in m4_grown.VARIANTS]
    missing = sum(name not in results for name in names)
    flag = "" if options.size == "full" else f" --{options.size}"
    chains = "chain" if plan.n_chains == 1 else "chains"
    parts = [
        _HEAD.format(
            command=f"`python -m benchmarks.papers m4_grown --data ../shared/data{flag}`",
            missing=f" {missing} of {len(names)} rows are not computed yet." if missing else "",
        ),
        _NOTES,
        _SETUP.format(
            sizes=f"K = {plan.n_classes}, {plan.n_chains} {chains} of {plan.n_sweeps:,} sweeps, "
            "collapsed samplers; the best chain is the model.",
            particles=m4_grown.N_PARTICLES,
        ),
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
    """Return the table for one corpus."""
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
