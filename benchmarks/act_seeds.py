"""What seed words do for acts: python -m benchmarks.act_seeds --data ../shared/data.

On training parts: precision and recall of the named acts against the gold acts that their words
stand for, and V of all acts, for several strengths of seed words and of what holds other messages
off. The strengths of ``palaver.models.acts.seeds`` were chosen by it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import palaver as pv
from benchmarks.training_parts import training_part
from palaver import evaluate
from palaver.models.acts import seeds

#: Gold acts and words that a user might think of for them, of each corpus.
WORDS = {
    "nps-chat": {
        "Greet": ["hi", "hey", "hello", "wb"],
        "Emotion": ["lol", "lmao", "haha"],
        "Bye": ["bye", "brb", "night"],
        "whQuestion": ["who", "what", "where", "how"],
    },
    "dailydialog": {
        "question": ["what", "how", "why", "?"],
        "directive": ["please", "let's", "let"],
    },
    "swda": {"b": ["uh-huh", "yeah", "right"], "qy": ["do", "are", "?"], "aa": ["exactly"]},
}
STRENGTHS = [(12.0, 2.0), (12.0, 3.0), (12.0, 4.0), (20.0, 3.0), (20.0, 4.0), (20.0, 6.0)]


def measure(data: Path, name: str) -> list[float]:
    """Return mean precision and recall of the named acts, and V of all."""
    corpus = training_part(data, name)
    gold = np.array(corpus.table["act"].to_list())
    model = pv.Acts(seed_words=WORDS[name], random_state=0).fit(corpus)
    found = model.message_classes(corpus)
    rows = []
    for act, wanted in enumerate(WORDS[name]):
        both = ((found == act) & (gold == wanted)).sum()
        rows.append((both / max((found == act).sum(), 1), both / (gold == wanted).sum()))
    return [*np.mean(rows, axis=0), evaluate.v_measure(gold, found)]


def main() -> None:
    """Print a line for each strength."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    print("| a word, nats | every unit, nats |", " | ".join(f"{c}: P, R, V" for c in WORDS), "|")
    for strength in STRENGTHS:
        seeds.FOR, seeds.AGAINST = strength
        cells = [" ".join(f"{v:.2f}" for v in measure(data, name)) for name in WORDS]
        print(f"| {strength[0]:.0f} | {strength[1]:.0f} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
