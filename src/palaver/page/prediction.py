"""How well a model predicts words: its perplexity next to that of word frequencies alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from palaver import rng
from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, encode
from palaver.encoding.part import take_conversations

if TYPE_CHECKING:
    from palaver.models.base.model import Model

#: Conversations and words that are enough to tell, and particles of the model's likelihood.
_CONVERSATIONS, _WORDS, _PARTICLES = 400, 40_000, 50


@runtime_checkable
class PredictsWords(Protocol):
    """A model that can say how likely conversations are, word by word.

    Bags of words, which have no order, cannot.
    """

    def log_likelihoods(self, corpus: Any, /) -> NDArray[np.float64]:
        """Return the log likelihood of each conversation."""
        ...

    def perplexity(self, corpus: Any, /, *, n_particles: int) -> float:
        """Return the perplexity of a word."""
        ...


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """Perplexities of a word: among how many words one would have to choose.

    Attributes
    ----------
    model, unigram : float
    n_words, n_conversations : int
        Predicted.
    texts : {"training", "test", "page"}
        Whether these texts are those that the model learned from, those given to test it, or
        other texts on the page, some of which it may have learned from.
    """

    model: float
    unigram: float
    n_words: int
    n_conversations: int
    texts: str


def predict_words(
    model: Model, encoded: Encoded, test: Corpus | None = None, *, learned: bool = False
) -> Prediction | None:
    """Let a model predict the words of some conversations, in order, not looking ahead.

    Conversations are taken in an order drawn once from a fixed stream, at most 400 and until
    they have 40,000 words. The unigram knows how often the model's words were in the texts it
    learned from.

    Parameters
    ----------
    model : Model
    encoded : Encoded
        The texts of the page.
    test : Corpus, optional
        Other texts to predict instead; only the conversations that are taken are encoded.
    learned : bool
        Whether the model learned from the texts of the page.

    Returns
    -------
    Prediction or None
        None for models that cannot predict, and where there is no known word.
    """
    if not isinstance(model, PredictsWords):
        return None
    whole = encoded if test is None else test
    sample = rng.generator(0, "page", 1).permutation(whole.n_conversations)[:_CONVERSATIONS]
    places = sample
    if test is not None:
        encoded = encode(test.take(sample), model.vocabulary_, sentences=model.needs_sentences)
        places = np.arange(len(sample))
    lengths = np.diff(encoded.message_offsets[encoded.conversation_offsets])[places]
    enough = int(np.searchsorted(np.cumsum(lengths), _WORDS)) + 1
    part = take_conversations(encoded, places[np.argsort(sample[:enough])])
    if not part.n_tokens:
        return None
    counts = np.maximum(model.vocabulary_.counts, 0.5)
    logs = np.log(counts / counts.sum())[part.tokens]
    return Prediction(
        model=float(model.perplexity(part, n_particles=_PARTICLES)),
        unigram=float(np.exp(-logs.mean())),
        n_words=part.n_tokens,
        n_conversations=part.n_conversations,
        texts="test" if test is not None else "training" if learned else "page",
    )
