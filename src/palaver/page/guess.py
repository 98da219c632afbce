"""How well a model foretells words: its perplexity beside that of word frequencies alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palaver import rng
from palaver.corpus.table import Corpus
from palaver.encode import encode

#: Conversations and words that are enough to tell, and samples side by side.
_CONVERSATIONS, _WORDS, _PARTICLES = 400, 40_000, 50


@dataclass(frozen=True)
class Guess:
    """Perplexities of a word: among how many words one would have to choose.

    Attributes
    ----------
    model, unigram : float
    n_words, n_conversations : int
        That were foretold.
    seen : bool
        Whether the model has learned from these very texts.
    """

    model: float
    unigram: float
    n_words: int
    n_conversations: int
    seen: bool


def guess_words(model: Any, corpus: Corpus, *, seen: bool) -> Guess | None:
    """Let a model foretell the words of some conversations, in order, not looking ahead.

    Taken are conversations in an order drawn once from a fixed stream, until there are enough.
    The unigram knows how often the model's words were in the texts it learned from. None for
    models that cannot do it.
    """
    if not hasattr(model, "log_likelihoods"):  # such as bags of words, which have no order
        return None
    needs = getattr(model, "needs_sentences", False)
    order = rng.generator(0, "page", 1).permutation(corpus.n_conversations)[:_CONVERSATIONS]
    encoded = encode(corpus.take(order), model.vocabulary_, sentences=needs)
    ends = encoded.message_offsets[encoded.conversation_offsets[1:]]
    enough = int(np.searchsorted(ends, _WORDS)) + 1
    encoded = encode(corpus.take(np.sort(order[:enough])), model.vocabulary_, sentences=needs)
    if not encoded.n_tokens:
        return None
    counts = np.maximum(model.vocabulary_.counts, 0.5)
    logs = np.log(counts / counts.sum())[encoded.tokens]
    return Guess(
        float(model.perplexity(encoded, n_particles=_PARTICLES)),
        float(np.exp(-logs.mean())),
        encoded.n_tokens,
        encoded.n_conversations,
        seen,
    )
