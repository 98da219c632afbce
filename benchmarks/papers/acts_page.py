"""The results page of the acts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.papers.acts import (
    ABLATED,
    ABLATIONS,
    CANDIDATES,
    DEFAULT,
    FEW,
    FEW_ACTS,
    GAUSSIAN,
    KMEANS,
    MAXENT,
    N_SWEEPS,
    N_TOPICS,
    NAMED,
    ONE,
    OTHER_PAGE,
    RULE,
    TRAIN_ACTS,
    WORDS,
)
from benchmarks.papers.acts_data import (
    FIT_CALLS,
    JUDGED,
    TRAIN_CALLS,
    TRAIN_MEETINGS,
    TRAINING,
)
from benchmarks.papers.acts_more import all_said, eye_section
from benchmarks.papers.acts_number import number_section

Results = Mapping[str, Any]
ACTS = "Acts"
#: Unsupervised rows with a number of classes.
RIVALS = (*GAUSSIAN, *KMEANS, *WORDS)
#: Measures of the detailed tables, and how they are printed.
MEASURES = ("V", "V without singletons", "VI", "F1", "purity", "collocation", "one-to-one")
#: V that counts as a tie.
TIE = 0.01


def text(results: Results, missing: Sequence[str]) -> str:
    """Return the text of the page; results not computed yet are listed by name."""
    parts = [
        _HEAD, "## What to make of it\n", *_reading(results), _SETUP, _facts(results),
        _overview(results, "chosen"), _overview(results, "gold"), _few(results),
        *_agreement(results), _names(results), eye_section(results), _details(results),
        number_section(results), _CHOICE, _choice(results), _ablation(results), _missing(missing),
    ]  # fmt: skip
    return "\n".join(part for part in parts if part).rstrip() + "\n"


def row(results: Results, corpus: str, name: str, number: str) -> Mapping[str, Any] | None:
    """Return the result of a row, all of the same form: seeds and seconds; None if missing."""
    if name in (RULE, ONE):
        plain = results.get(f"{corpus}/plain")
        return None if plain is None else {"seeds": [plain[name]], "seconds": None}
    if name == MAXENT:
        return results.get(f"{corpus}/{MAXENT}")
    return results.get(f"{corpus}/{name}/{number}")


def mean(found: Mapping[str, Any], measure: str = "V") -> float:
    """Return the mean of a measure over seeds."""
    return float(np.mean([seed[measure] for seed in found["seeds"]]))


def asked(results: Results, corpus: str, number: str) -> int:
    """Return the number of classes that rows are asked for; some leave a few of them empty."""
    plain, own = results.get(f"{corpus}/plain"), row(results, corpus, ACTS, number)
    if number == "gold" and plain is not None:
        return int(plain["facts"]["gold"])
    return 0 if own is None else int(own["seeds"][0]["classes"])


def best_rival(results: Results, corpus: str, number: str) -> tuple[str, float] | None:
    """Return the best unsupervised rival with about as many classes, and its V."""
    found = {
        name: mean(own)
        for name in RIVALS
        if (own := row(results, corpus, name, number)) is not None
    }
    return max(found.items(), key=lambda pair: pair[1]) if found else None


def _reading(results: Results) -> Iterator[str]:
    verdicts: dict[str, list[str]] = {"above": [], "tie": [], "below": []}
    for corpus in JUDGED:
        for number in ("chosen", "gold"):
            own, rival = row(results, corpus, ACTS, number), best_rival(results, corpus, number)
            if own is None or rival is None:
                continue
            ahead = mean(own) - rival[1]
            kind = "tie" if abs(ahead) <= TIE else "above" if ahead > 0 else "below"
            verdicts[kind].append(
                f"{corpus}, {asked(results, corpus, number)} acts ({mean(own):.3f}; {rival[0]} "
                f"{rival[1]:.3f})"
            )
    said = {
        "above": "**Above every rival** with as many classes, by V (mean over seeds; the best "
        "rival in parentheses)",
        "tie": f"**Within {TIE:.2f}** of the best rival, above or below",
        "below": "**Below a rival**",
    }
    for kind, cases in verdicts.items():
        if cases:
            yield f"- {said[kind]}: {'; '.join(cases)}."
    yield from _against_rule(results)
    yield from _stability(results)
    yield from _whole(results)
    yield from all_said(results)
    yield from _names_read(results)
    yield ""


def _against_rule(results: Results) -> Iterator[str]:
    cases = []
    for corpus in JUDGED:
        own, rule = row(results, corpus, ACTS, "chosen"), row(results, corpus, RULE, "chosen")
        if own is not None and rule is not None and mean(rule) > mean(own):
            taught = row(results, corpus, MAXENT, "chosen")
            ceiling = "" if taught is None else f", supervised MaxEnt {mean(taught):.3f}"
            cases.append(f"{corpus} ({mean(rule):.3f}, Acts {mean(own):.3f}{ceiling})")
    if cases:
        yield (
            f"- The rule “{RULE}”, with two classes, has a higher V than Acts at the number "
            f"chosen on: {'; '.join(cases)}."
        )
    for corpus in FEW:
        rule = row(results, corpus, RULE, "chosen")
        few = {n: mean(own) for n in FEW_ACTS if (own := results.get(f"few/{corpus}/{n}"))}
        if rule is None or not few:
            continue
        over = [str(n) for n, v in few.items() if v > mean(rule) + TIE]
        under = [str(n) for n, v in few.items() if v < mean(rule) - TIE]
        even = [str(n) for n, v in few.items() if abs(v - mean(rule)) <= TIE]
        cases = [f"{word} {' and '.join(ns)} acts" for word, ns in
                 (("above it with", over), ("level with it with", even), ("below it with", under))
                 if ns]  # fmt: skip
        yield f"- Against that rule on {corpus}, Acts is {', '.join(cases)}."


def _stability(results: Results) -> Iterator[str]:
    for number, what in (("chosen", "the number chosen"), ("gold", "the number of gold acts")):
        found = {c: own["between"] for c in JUDGED if (own := row(results, c, ACTS, number))}
        if found:
            shown = ", ".join(f"{corpus} {value:.2f}" for corpus, value in found.items())
            yield (
                f"- V between runs of Acts with different seeds, mean over pairs of five, at "
                f"{what}: {shown}; mean {np.mean(list(found.values())):.2f}."
            )


def _agreement(results: Results) -> list[str]:
    """Return the table of how well runs of different seeds agree, for all models."""
    rows = {name: {c: own["between"] for c in JUDGED
                   if (own := row(results, c, name, "gold")) and "between" in own}
            for name in (ACTS, *GAUSSIAN, *KMEANS, *WORDS)}  # fmt: skip
    rows = {name: found for name, found in rows.items() if found}
    if not rows:
        return []
    lines = [_AGREEMENT, "| | " + " | ".join([*JUDGED, "mean"]) + " |",
             "|---|" + "---|" * (len(JUDGED) + 1)]  # fmt: skip
    for name, found in rows.items():
        cells = [f"{found[c]:.2f}" if c in found else "–" for c in JUDGED]
        cells.append(f"{np.mean(list(found.values())):.2f}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return ["\n".join(lines) + "\n"]


_AGREEMENT = """## Agreement between seeds

V between the classes that two runs with different seeds give the judged messages, mean over the
pairs of five, at the number of gold acts. A model that puts nearly everything into one class agrees
with itself only where it tells messages apart, so read this together with V against gold acts.
"""


def _whole(results: Results) -> Iterator[str]:
    own, other = results.get("swda/Acts/whole"), results.get(OTHER_PAGE)
    if own is None:
        return
    n_acts = [seed["classes"] for seed in own["seeds"]]
    said = (
        f"- Fitted to all {own['fitted']:,} training utterances of Switchboard, Acts has "
        f"{' or '.join(map(str, sorted(set(n_acts))))} acts, V {100 * mean(own):.1f} and F1 "
        f"{100 * mean(own, 'F1'):.1f} on the test part (mean of {len(n_acts)} seeds; V "
        f"{_range([100 * seed['V'] for seed in own['seeds']], '{:.1f}')}; {own['seconds']:.0f} s "
        "of processor time each)"
    )
    if other is not None:
        kind = "below" if mean(own) < other["V1"] else "above"
        said += (
            f"; by V that is {kind} the {100 * other['V1']:.1f} (F1 {100 * other['F1']:.1f}) of "
            "the Gaussian HMM with GloVe by nearly the same protocol (utterances without text are "
            "zero vectors there, not a class) on [its own page](gaussian_hmm.md)"
        )
    part = row(results, "swda", ACTS, "chosen")
    if part is not None:
        said += (
            f". Fitted to {FIT_CALLS} calls, as in the tables below, Acts has V "
            f"{100 * mean(part):.1f} and F1 {100 * mean(part, 'F1'):.1f} on average"
        )
    yield said + "."


def _names_read(results: Results) -> Iterator[str]:
    shown = []
    for corpus in NAMED:
        found = results.get(f"names/{corpus}")
        if found is not None:
            shares = [run["share"] for run in found]
            shown.append(f"{corpus} {np.mean(shares):.0%} ({_range(shares, '{:.0%}')})")
    if shown:
        yield f"- Proposed names fit the majority gold act for these shares of messages: " \
              f"{'; '.join(shown)}."  # fmt: skip


def _range(values: Sequence[float], form: str = "{:.3f}") -> str:
    return f"{form.format(min(values))} to {form.format(max(values))}"


def _facts(results: Results) -> str:
    lines = ["| corpus | | conversations | messages with gold act | gold acts | models fitted to "
             "messages | MaxEnt trained on |", "|---" * 7 + "|"]  # fmt: skip
    for corpus, what in JUDGED.items():
        plain = results.get(f"{corpus}/plain")
        if plain is not None:
            f = plain["facts"]
            lines.append(
                f"| {corpus} | {what} | {f['conversations']:,} | {f['labelled']:,} of "
                f"{f['messages']:,} | {f['gold']} | {f['fitted']:,} | {f['supervised']:,} |"
            )
    return "\n".join(lines) + "\n"


def _overview(results: Results, number: str) -> str:
    title = {"chosen": "the number of acts that Acts chose", "gold": "the number of gold acts"}
    corpora = [c for c in JUDGED if row(results, c, ACTS, number) is not None]
    if not corpora:
        return ""
    heads = [f"{c}, {asked(results, c, number)}" for c in corpora]
    lines = [f"## V at {title[number]}\n", _ASKED, "| | " + " | ".join(heads) + " |",
             "|---" * (len(corpora) + 1) + "|"]  # fmt: skip
    best = {c: _best(results, c, number) for c in corpora}
    for name in (ACTS, *RIVALS, RULE, ONE, MAXENT):
        shown = []
        for corpus in corpora:
            own = row(results, corpus, name, number)
            value = "" if own is None else f"{mean(own):.3f}"
            marked = own is not None and name not in (RULE, ONE, MAXENT)
            shown.append(f"**{value}**" if marked and mean(own) == best[corpus] else value)  # type: ignore[arg-type]
        if any(shown):
            lines.append(f"| {name} | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def _best(results: Results, corpus: str, number: str) -> float:
    found = [row(results, corpus, name, number) for name in (ACTS, *RIVALS)]
    return max(mean(own) for own in found if own is not None)


def _few(results: Results) -> str:
    lines = []
    for corpus in FEW:
        rule = row(results, corpus, RULE, "chosen")
        few = [results.get(f"few/{corpus}/{n}") for n in FEW_ACTS]
        if rule is None or not any(few):
            continue
        shown = ["" if own is None else f"{mean(own):.3f}" for own in few]
        lines.append(f"| {corpus} | {mean(rule):.3f} | {' | '.join(shown)} |")
    if not lines:
        return ""
    heads = " | ".join(f"Acts, {n}" for n in FEW_ACTS)
    return "\n".join([
        "## A few acts against the rule\n", "V on the judged parts; Acts with two seeds.\n",
        f"| | {RULE} | {heads} |", "|---" * (len(FEW_ACTS) + 2) + "|", *lines, "",
    ])  # fmt: skip


def _names(results: Results) -> str:
    parts = []
    for corpus in NAMED:
        found = results.get(f"names/{corpus}")
        if found is None:
            continue
        shares = [run["share"] for run in found]
        named = float(np.mean([run["named"] for run in found]))
        lines = [
            f"**{corpus}**: {np.mean(shares):.1%} of messages, by seed "
            + ", ".join(f"{share:.1%}" for share in shares)
            + f"; {named:.0%} have a name from the inventory (any other name counts as not "
            "fitting). The acts of seed 0:\n",
            "| proposed name | messages | most frequent gold act | its share | fits |",
            "|---|---|---|---|---|",
        ]
        lines += [
            f"| {act['name']} | {act['messages']:,} | `{act['most']}` | {act['share']:.0%} | "
            f"{'yes' if act['fits'] else 'no'} |"
            for act in found[0]["acts"]
        ]
        parts.append("\n".join(lines) + "\n")
    return "\n".join([_NAMES, *parts]) if parts else ""


def _details(results: Results) -> str:
    lines = ["## All measures\n", _DETAILS]
    for corpus in JUDGED:
        lines += [f"### {corpus}\n", "| | classes | V, interval | range over seeds | "
                  + " | ".join(MEASURES[1:]) + " | seconds |",
                  "|---" * (len(MEASURES) + 4) + "|"]  # fmt: skip
        for name in (ACTS, *RIVALS):
            for number in ("chosen", "gold"):
                own = row(results, corpus, name, number)
                if own is not None:
                    lines.append(_detail(name, own))
        for name in (RULE, ONE, MAXENT):
            own = row(results, corpus, name, "chosen")
            if own is not None:
                lines.append(_detail(name, own))
        lines.append("")
    return "\n".join(lines)


def _detail(name: str, own: Mapping[str, Any]) -> str:
    seeds = own["seeds"]
    counts = sorted({seed["classes"] for seed in seeds})
    classes = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    spread = _range([seed["V"] for seed in seeds]) if len(seeds) > 1 else ""
    low, high = (max(mean(own, side), 0.0) for side in ("low", "high"))
    interval = f"{mean(own):.3f} ({low:.3f} to {high:.3f})"
    values = " | ".join(f"{mean(own, measure):.3f}" for measure in MEASURES[1:])
    seconds = "" if own["seconds"] is None else f"{own['seconds']:.1f}"
    return f"| {name} | {classes} | {interval} | {spread} | {values} | {seconds} |"


def training_mean(results: Results, name: str, corpus: str) -> float | None:
    """Return the mean V of a setting on a training part."""
    found = results.get(f"training/{name}/{corpus}")
    return None if found is None else float(np.mean(found))


def left_out_choices(table: Mapping[str, Mapping[str, float]]) -> dict[str, tuple[str, float]]:
    """Choose a setting for each corpus by the mean over the others.

    Parameters
    ----------
    table : mapping of mapping
        V by setting, then corpus.

    Returns
    -------
    dict
        The setting and its V on the corpus that was left out.
    """
    corpora = list(next(iter(table.values())))
    found = {}
    for corpus in corpora:
        others = [c for c in corpora if c != corpus]
        best = max(table, key=lambda name: float(np.mean([table[name][c] for c in others])))
        found[corpus] = best, table[best][corpus]
    return found


def _choice(results: Results) -> str:
    table = {
        name: {c: training_mean(results, f"weights {name}", c) for c in TRAINING}
        for name in CANDIDATES
    }
    lines = ["| | weights | " + " | ".join(TRAINING) + " | mean |",
             "|---" * (len(TRAINING) + 3) + "|"]  # fmt: skip
    for name, values in table.items():
        known = [v for v in values.values() if v is not None]
        if not known:
            continue
        total = f"{np.mean(known):.4f}" if len(known) == len(values) else ""
        shown = " | ".join("" if v is None else f"{v:.3f}" for v in values.values())
        weights = ", ".join(f"{view} {weight:g}" for view, weight in CANDIDATES[name].items()
                            if name == "base" or weight != CANDIDATES["base"][view])  # fmt: skip
        label = f"{name} (the default)" if name == DEFAULT else name
        lines.append(f"| {label} | {weights} | {shown} | {total} |")
    done: dict[str, dict[str, float]] = {}
    for name, values in table.items():
        full = {c: v for c, v in values.items() if v is not None}
        if len(full) == len(TRAINING):
            done[name] = full
    if len(done) == len(CANDIDATES):
        chosen = left_out_choices(done)
        shown = " | ".join(f"{value:.3f} ({name})" for name, value in chosen.values())
        average = np.mean([value for _, value in chosen.values()])
        lines.append(f"| chosen on the other corpora | | {shown} | {average:.4f} |")
        lines.append(_said_of_choice(done))
    return "\n".join(lines) + "\n"


def _said_of_choice(table: Mapping[str, Mapping[str, float]]) -> str:
    """Say whether the default is the best of the candidates here."""
    means = {name: float(np.mean(list(values.values()))) for name, values in table.items()}
    best = max(means, key=lambda name: means[name])
    if best == DEFAULT:
        return "\nThe default has the highest mean."
    return (
        f"\nThe default is not the best here: *{best}* is ahead by "
        f"{means[best] - means[DEFAULT]:.4f}. All candidates are within "
        f"{max(means.values()) - min(means.values()):.3f} of each other."
    )


def _ablation(results: Results) -> str:
    names = {"the default": f"weights {DEFAULT}", **{name: name for name in ABLATIONS}}
    lines = []
    for label, name in names.items():
        values = [training_mean(results, name, corpus) for corpus in ABLATED]
        if all(value is None for value in values):
            continue
        known = [value for value in values if value is not None]
        total = f"{np.mean(known):.3f}" if len(known) == len(values) else ""
        shown = " | ".join("" if value is None else f"{value:.3f}" for value in values)
        lines.append(f"| {label} | {shown} | {total} |")
    if not lines:
        return ""
    heads = " | ".join(ABLATED)
    lines.append(_said_of_parts(results))
    return "\n".join([_ABLATION, f"| | {heads} | mean |", "|---" * (len(ABLATED) + 2) + "|",
                      *lines, ""])  # fmt: skip


def _said_of_parts(results: Results) -> str:
    """Name what could be taken out without harm on average, and where context harms."""
    base = {c: training_mean(results, f"weights {DEFAULT}", c) for c in ABLATED}
    gains: dict[str, dict[str, float]] = {}
    for name in ABLATIONS:
        values = {c: training_mean(results, name, c) for c in ABLATED}
        gains[name] = {c: v - b for c, v in values.items()
                       if v is not None and (b := base[c]) is not None}  # fmt: skip
    useless = [name.removeprefix("without ") for name, own in gains.items()
               if len(own) == len(ABLATED) and np.mean(list(own.values())) >= 0]  # fmt: skip
    harmed = [f"{c} ({gain:+.3f})" for c, gain in gains["without context"].items() if gain > TIE]
    said = []
    if useless:
        said.append(f"Parts without which the mean is no lower: {', '.join(useless)}.")
    if harmed:
        said.append(f"V is higher without context on: {', '.join(harmed)}.")
    return "\n" + " ".join(said)


def _missing(missing: Sequence[str]) -> str:
    return "## Not computed yet\n\n" + "; ".join(missing) + ".\n" if missing else ""


_HEAD = """# Acts against gold acts

Written by `python -m benchmarks.papers acts --data ../shared/data`. Model:
[Acts](../models/acts.md), with its defaults unless stated otherwise.
"""

_SETUP = f"""
## Setup

**Fitted without labels, to the judged part itself**, as somebody who looks at a corpus would: the
test parts of MRDA and DailyDialog, the last seven rooms of NPS Chat without system messages, the
sentences of 200 threads of the [sample](../tutorial.md) (another seed than the one that settings
were chosen on, but the same generator). Two corpora differ: on **Switchboard** models are fitted
to {FIT_CALLS} of the 1,115 training calls, evenly spread, and applied to the test part (rows
without `+` and `@`); on **RumourEval** to all tweets, and judged on the test part, whose
labels are stances rather than acts: it is shown without a claim.

**Seeds.** At the number of gold acts, Acts and all rivals with random starts have five; at the
number chosen, Acts has five, k-means three, all others one. Word models have {N_SWEEPS} sweeps and
otherwise their defaults (M4 with topics: {N_TOPICS}), which is fewer than their 1,000 by default.
The Gaussian HMM has its default number of states (as many as classes where that is more), merged
into the number of classes. k-means on vectors sees the mean, first and last word's. *MaxEnt*
learns from labels of other parts (the training calls above, eight meetings, DailyDialog's dev part,
the first eight rooms, the sample with the other seed, RumourEval's training part): a ceiling, not a
rival.

**What was seen.** Settings were chosen on training parts (below). The rule for the number of acts
was changed twice after an earlier rule had been measured on the judged parts; the changes were
decided by the figures of training parts. Two late changes concern Switchboard: acts that differ by
less than 2 nats (1.5 before) are merged, and utterances without text are a class of their own. Both
were looked for because V on the test part had been low (39.8 when fitted to all training calls),
and were then decided by training calls; so Switchboard's rows are not a first look.
Searches, joining and names were changed once more after all judged parts had been measured; parts
of training parts decided. So did training parts when what follows an act, and its proposed name,
came to decide how many acts there are, and when names that tell only the form of an act came to
merge nothing (below). The last change was made when rows of two judged parts had been printed, but
because of a support channel without labels: acts that nobody found go to what they are most like
per unit.

**Measures.** V is the V-measure; *without singletons* leaves out classes of one message; VI is in
bits, lower is better; F1 is of purity and collocation. Every message with a gold act is judged;
the 94 of Switchboard without any text, about which no model can say anything, are a class of their
own in the rows of all unsupervised models.
Intervals resample conversations (95 %); with few conversations (NPS Chat has seven) they are rough.
Seconds are of processor time, fit and prediction, with one thread; a first fit includes the
loading of compiled code.
"""

_ASKED = """The number beside a corpus is what every row was asked for; Acts and word models may
leave some classes empty (see *All measures*). Bold: the best row that learns
without labels; the rule “has a ?”, which learns nothing and has two classes, may be higher.
"""

_NAMES = """## Names

The share of messages whose act has a proposed name that fits the most frequent gold act among its
messages. What fits is in `benchmarks/papers/act_names.toml`, written from the tag sets' manuals and
checked on training parts. MRDA's five tags are coarse: answers, agreement and most other acts are
statements (S) there, so such names fit easily; of acknowledgements only backchannels (B) count.
Switchboard's entries for opinion, agreement, request, apology and acknowledgement were made
stricter after a first look at the figures; nothing was made more lenient. The shares were measured
once more when cues of the inventory changed.
"""

_DETAILS = """The first row of each model has the number of classes that Acts chose with seed 0, the
second the number of gold acts; classes are counted that some judged message has, which may be fewer
than asked for. V is the mean over seeds, and its interval the mean of theirs.
"""

_CHOICE = f"""## How the weights were chosen

On training parts alone: {TRAIN_CALLS} training calls of Switchboard, {TRAIN_MEETINGS} training
meetings of MRDA, DailyDialog's dev part, the first eight rooms of NPS Chat, and the sample. V with
{TRAIN_ACTS} acts, mean of two seeds. Weights that are not named are those of the first row. The
last row says how well the choice carries over: for each corpus, the weights that are best on
average over the *other* corpora.
"""

_ABLATION = f"""## What each part contributes

V on training parts with {TRAIN_ACTS} acts, mean of two seeds. A view is left out by a weight of 0;
even weights are 1 for all views; without context, every message is a conversation of its own.
"""
