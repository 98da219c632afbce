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

**Read by eye.** These five, and the outlines of 20 threads of r-help with 4 to 12 mails, drawn at
random (their texts may not be shown here). In 16 of the 20, problem and question say what the
thread is about; 13 read as a story that one can follow. What goes wrong: the problem is sometimes
a remark beside the matter, a note of the list or the output of a program; an answer sometimes
repeats a quotation that is not marked as one, or is a fragment; what is thanked for may be a
counter-question; a joke can pass for an answer. This is one reader's judgement, and the rules
were made while reading 8 of the 20.
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
