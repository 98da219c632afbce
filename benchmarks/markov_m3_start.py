"""The start of models of documents, a Gibbs sampler, on training words: its word prior and sweeps.

    python -m benchmarks.markov_m3_start --data ../shared/data
    python -m benchmarks.markov_m3_start --data ../shared/data --settings 0.3,0.25 --sweeps 100 300

The prior is ``min(smooth, share * tokens / (words * topics))``. Of the training documents of each
corpus, a tenth is held out: 90% of its words are shown and the others predicted. Prints perplexity
by corpus, number of topics and setting, and processor seconds.
"""

from __future__ import annotations

import argparse
import time
from itertools import product
from pathlib import Path

import palaver as pv
from benchmarks.papers.markov_m3 import training_split
from palaver.models.documents import engine

SETTINGS = ((0.03, 1.0), (0.1, 0.25), (0.3, 0.1), (0.3, 0.25), (0.3, 0.5), (0.6, 0.5))
MODELS = {"online-lda": pv.OnlineLDA, "markov-m3": pv.MarkovM3}
N_SWEEPS = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--corpora", nargs="+", default=["ap", "kos"])
    parser.add_argument("--topics", nargs="+", type=int, default=[20, 50, 100, 150])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=["online-lda"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--settings", nargs="+", help="such as 0.3,0.25")
    parser.add_argument("--sweeps", nargs="+", type=int, default=[100], help="of the sampler")
    asked = parser.parse_args()
    given = asked.settings and [tuple(map(float, text.split(","))) for text in asked.settings]
    print(
        "corpus  topics  model       smooth  share  sweeps  seed  perplexity  seconds", flush=True
    )
    for corpus in asked.corpora:
        split = training_split(asked.data, corpus)
        for n_topics in asked.topics:
            for kind in asked.models:
                for (smooth, share), sweeps, seed in product(
                    given or SETTINGS, asked.sweeps, asked.seeds
                ):
                    engine.TOKEN_BETA, engine.TOKEN_SHARE = smooth, share
                    start = time.process_time()
                    model = MODELS[kind](n_topics, random_state=seed, start_sweeps=sweeps,
                                         n_sweeps=N_SWEEPS)  # fmt: skip
                    model.fit(split.train, show_progress=False)
                    found = model.perplexity(split.observed, split.heldout)
                    seconds = time.process_time() - start
                    print(f"{corpus:6}  {n_topics:6}  {kind:10}  {smooth:6}  {share:5}  "
                          f"{sweeps:6}  {seed:4}  {found:10.1f}  {seconds:7.1f}",
                          flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
