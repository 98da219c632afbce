"""Write docs/results/outlines.md: outlines of threads of the sample, to be read.

python tools/outlines.py
"""

from pathlib import Path

import numpy as np

import palaver as pv

_PAGE = Path(__file__).parents[1] / "docs" / "results" / "outlines.md"
_THREADS, _SHOWN = 60, 5
_HEAD = """\
# Outlines of threads

Written by `python tools/outlines.py`: the five longest of 60 threads of the synthetic sample, as
`palaver summarize FILE --outline --longest 5` shows them. Method:
[ranking](../ranking.md#outlines-of-threads).

**Read by eye.** These five, and the outlines of 40 threads of r-help with 5 to 14 mails, drawn at
random (their texts may not be shown here). 20 were read while the rules were made: in 18, problem
and question say what the thread is about, and 15 read as a story that one can follow. Of 20 read
afterwards, it is 17 and 13; two more rules came from these (quotations that begin with a name, and
"works with x, but not with y" is no success). What still goes wrong: mail that discusses and does
not ask has no story; an answer or solution can be half of a sentence that code continues; thanks
can be for a reply that did not help; a vague question ("how do I do this?") stays vague. This is
one reader's judgement. [ROUGE](grasshopper.md#sentences-opinosis) judges the sentences of
`pv.summarize`, not outlines: there are no references for threads.
"""


def main() -> None:
    """Write the page."""
    corpus = pv.sample(_THREADS)
    longest = np.argsort(-np.diff(corpus.conversation_offsets), kind="stable")[:_SHOWN]
    lines = [_HEAD]
    for row in longest:
        one = corpus.take([row])
        lines += [f"## {one.table['conversation'][0]}: {one.n_messages} messages", ""]
        lines += ["| | who | |", "|---|---|---|"]
        for part, who, text in pv.outline(one).select("part", "speaker", "text").iter_rows():
            said = text.replace("|", "\\|").replace("\n", " ")
            lines.append(f"| {part} | `{who}` | {said} |")
        lines.append("")
    _PAGE.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(_PAGE)


if __name__ == "__main__":
    main()
