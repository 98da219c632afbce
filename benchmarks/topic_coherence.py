"""Do the top words of topics belong together? By what the topics are made of.

    python -m benchmarks.topic_coherence --data ../shared/data

Mean NPMI of the ten most probable words of a topic; words go together if a training document has
both. "words" are all; "topics" are the words of ``palaver.encode(view="topics")``; "stems" are
their stems; in "phrases", pairs that stand together much more often than by chance are one word; in
"pairs", frequent pairs are further words, which raises coherence by itself: a pair occurs where its
words do. The counts of 20news have no order, so it has no pairs. There, words that are in more than
half of the documents or occur less than ten times are left out.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from itertools import chain, pairwise
from math import log
from pathlib import Path
from typing import Any

import numpy as np

import palaver as pv
from palaver.encoding import Encoded, encode
from palaver.encoding.stem import stem
from palaver.encoding.topic_view import is_subject
from palaver.evaluate import npmi

FILES = {
    "20news": "20news/docword.20news-train.txt.gz",
    "r-help": "r-help/r-help-2001-2002.jsonl.gz",
    "4forums": "4forums/4forums.jsonl.gz",
}
MODELS = ("lda", "online-lda", "markov-m3", "m4", "tomotopy")
VIEWS = ("words", "topics", "stems", "phrases", "pairs")
N_WORDS, SEED = 10, 0
#: How often two words stand together, and how closely (NPMI of neighbours), to be a phrase.
FEWEST, LEAST_ASSOCIATION = 20, 0.5


def tokens_of(corpus: Any, name: str, view: str) -> Encoded:
    few = {"min_count": 10, "max_share": 0.5} if name == "20news" else {}
    if view in ("words", "topics"):
        return encode(corpus, view=view, **few)
    return encode(corpus.with_columns(tokens=changed_tokens(corpus, view)), view="topics", **few)


def changed_tokens(corpus: pv.Corpus, view: str) -> list[list[str]]:
    """Return the words of each message as stems, with phrases, or with pairs."""
    plain = encode(corpus, min_count=1)
    names = plain.vocabulary.words
    texts = [[names[word] for word in plain.tokens[first:last].tolist()]
             for first, last in pairwise(plain.message_offsets.tolist())]  # fmt: skip
    subject = {word for word in names if is_subject(word)}
    if view == "stems":
        stems = {word: stem(word) for word in subject}
        return [[stems[word] for word in text if word in subject] for text in texts]
    pairs = Counter(pair for text in texts for pair in pairwise(text) if subject.issuperset(pair))
    if view == "pairs":
        return [text + ["_".join(pair) for pair in pairwise(text) if pairs[pair] >= FEWEST]
                for text in texts]  # fmt: skip
    counts, total = Counter(chain.from_iterable(texts)), len(plain.tokens)
    phrases = {
        (a, b)
        for (a, b), n in pairs.items()
        if n >= FEWEST
        and log(n * total / (counts[a] * counts[b])) / -log(n / total) >= LEAST_ASSOCIATION
    }
    return [_joined(text, phrases) for text in texts]


def _joined(text: list[str], phrases: set[tuple[str, str]]) -> list[str]:
    """Return a text in which phrases are one word, from left to right."""
    found: list[str] = []
    open_word = False  # whether the last word may be the first of a phrase
    for word in text:
        if open_word and (found[-1], word) in phrases:
            found[-1], open_word = f"{found[-1]}_{word}", False
        else:
            found.append(word)
            open_word = True
    return found


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
    parser.add_argument("--views", nargs="+", choices=VIEWS, default=["words", "topics"])
    parser.add_argument("--sweeps", type=int, default=200)
    asked = parser.parse_args()
    print("corpus   words   topics  model        coherence  processor seconds", flush=True)
    for name in asked.corpora:
        corpus = pv.read(asked.data / FILES[name])
        for view in asked.views:
            encoded = tokens_of(corpus, name, view)
            for n_topics in asked.topics:
                for kind in asked.models:
                    start = time.process_time()
                    words = topics_of(kind, encoded, n_topics, asked.sweeps)
                    seconds = time.process_time() - start
                    top = np.argsort(-words, axis=1, kind="stable")[:, :N_WORDS]
                    found = float(np.nanmean(npmi(encoded.tokens, encoded.message_offsets, top)))
                    print(f"{name:8} {view:7} {n_topics:6}  {kind:12} {found:9.3f}  {seconds:7.1f}",
                          flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
