"""Do the top words of topics belong together? With all words, and with those of topics alone.

    python -m benchmarks.topic_coherence --data ../shared/data

Mean NPMI of the ten most probable words of a topic; words go together if a training document has
both. "topics" are the words of ``palaver.encode(view="topics")``. On 20news, words that are in more
than half of the documents or occur less than ten times are left out of both.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

import palaver as pv
from palaver.encoding import Encoded, encode
from palaver.evaluate import npmi

FILES = {
    "20news": "20news/docword.20news-train.txt.gz",
    "r-help": "r-help/r-help-2001-2002.jsonl.gz",
    "4forums": "4forums/4forums.jsonl.gz",
}
MODELS = ("lda", "online-lda", "markov-m3", "m4", "tomotopy")
N_WORDS, SEED = 10, 0


def tokens_of(corpus: Any, name: str, view: str) -> Encoded:
    few = {"min_count": 10, "max_share": 0.5} if name == "20news" else {}
    return encode(corpus, view=view, **few)


def topics_of(kind: str, encoded: Encoded, n_topics: int, sweeps: int) -> Any:
    """Return word distributions of topics, (n_topics, n_words)."""
    if kind == "lda":
        return pv.LDA(n_topics, n_sweeps=sweeps, random_state=SEED).fit(encoded).class_words_
    if kind == "m4":
        model = pv.M4(15, n_topics=n_topics, n_sweeps=sweeps, random_state=SEED).fit(encoded)
        return model.topic_words_
    if kind == "tomotopy":
        return tomotopy_topics(encoded, n_topics, sweeps)
    model = {"online-lda": pv.OnlineLDA, "markov-m3": pv.MarkovM3}[kind]
    return model(n_topics, random_state=SEED).fit_stream(encoded, passes=3).class_words_


def tomotopy_topics(encoded: Encoded, n_topics: int, sweeps: int) -> Any:
    import tomotopy

    model = tomotopy.LDAModel(k=n_topics, seed=SEED, eta=0.03)
    for first, last in zip(encoded.message_offsets[:-1], encoded.message_offsets[1:], strict=True):
        if last > first:
            model.add_doc([str(word) for word in encoded.tokens[first:last].tolist()])
    model.train(sweeps, workers=1)
    words = np.zeros((n_topics, len(encoded.vocabulary)))
    places = [int(word) for word in model.used_vocabs]
    for k in range(n_topics):
        words[k, places] = model.get_topic_word_dist(k)
    return words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--corpora", nargs="+", choices=FILES, default=list(FILES))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--topics", nargs="+", type=int, default=[20, 50])
    parser.add_argument("--sweeps", type=int, default=200)
    asked = parser.parse_args()
    print("corpus   words   topics  model        coherence  processor seconds", flush=True)
    for name in asked.corpora:
        corpus = pv.read(asked.data / FILES[name])
        for n_topics in asked.topics:
            for kind in asked.models:
                for view in ("words", "topics"):
                    encoded, start = tokens_of(corpus, name, view), time.process_time()
                    words = topics_of(kind, encoded, n_topics, asked.sweeps)
                    seconds = time.process_time() - start
                    top = np.argsort(-words, axis=1, kind="stable")[:, :N_WORDS]
                    found = float(np.nanmean(npmi(encoded.tokens, encoded.message_offsets, top)))
                    print(f"{name:8} {view:7} {n_topics:6}  {kind:12} {found:9.3f}  {seconds:7.1f}",
                          flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
