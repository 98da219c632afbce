"""The supervised reference: maximum entropy on words or vectors, in one round or two.

Spec 2: a multinomial logistic regression (scikit-learn) tags each message; the second round of
the context version also sees the first round's tags of the neighbours.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from palaver import rng
from palaver.corpus.table import Corpus
from palaver.encode import Encoded, WordVectors, encode
from palaver.encode.tokens import coded
from palaver.encode.utterances import WordPooling, learn_pooling, word_counts, word_vectors_of
from palaver.errors import CorpusError, NotFittedError, ParameterError
from palaver.fit.fold import report_progress
from palaver.fit.progress import Show, fold_progress
from palaver.models.base.params import HasParams
from palaver.params import Limit, either, flag, nothing, one_of, real, text, whole

_FOLDS = 2


class MaxEntTagger(HasParams):
    """Tag messages by maximum entropy, learned from labels.

    Parameters
    ----------
    context : bool
        Add a second round that sees the first round's tags of the messages before and after,
        and whether they have the same speaker.
    features : {"words", "vectors", "both"}
        Counts of words and of pairs of neighbouring words; utterance vectors; both.
    vectors : str
        "corpus" or a file of word vectors; see :func:`palaver.utterance_vectors`.
    whiten : int or None
        Principal components of the utterance vectors.
    min_count : int
        Drop words and pairs seen less often.
    penalty : float
        Weight of the quadratic penalty, the inverse of scikit-learn's ``C``.
    max_iter : int
        Iterations of each round.
    random_state : int
        For the folds whose tags teach the second round.

    Attributes
    ----------
    tags_ : list of str
        In alphabetical order; columns of :meth:`predict_proba`.
    label_ : str
        Column that the tags were learned from.

    Examples
    --------
    >>> import palaver as pv
    >>> train, test = pv.sample().split(test=0.25)                            # doctest: +SKIP
    >>> pv.MaxEntTagger(context=True).fit(train, labels="act").score(test)    # doctest: +SKIP
    """

    limits: ClassVar[Mapping[str, Limit]] = {
        "context": flag(),
        "features": one_of("words", "vectors", "both"),
        "vectors": text(),
        "whiten": either(whole(1), nothing()),
        "min_count": whole(1),
        "penalty": real(above=0),
        "max_iter": whole(1),
    }

    def __init__(
        self,
        context: bool = False,
        features: str = "words",
        vectors: str = "corpus",
        whiten: int | None = None,
        min_count: int = 2,
        penalty: float = 1.0,
        max_iter: int = 100,
        random_state: int = 0,
    ) -> None:
        self.context = context
        self.features = features
        self.vectors = vectors
        self.whiten = whiten
        self.min_count = min_count
        self.penalty = penalty
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(
        self,
        corpus: Corpus,
        labels: str = "act",
        *,
        vectors: str | WordVectors | None = None,
        show_progress: Show = "auto",
    ) -> Self:
        """Learn from the messages that have a label.

        Parameters
        ----------
        corpus : Corpus
        labels : str
            Column of the labels; messages without one are context only.
        vectors : optional
            In place of the parameter: also word vectors.
        show_progress : bool or "auto"
            Whether to show a bar of the regressions: one, or four with context.
        """
        self.check_params()
        gold, self.label_ = _column(corpus, labels), labels
        known = np.flatnonzero(gold.is_not_null().to_numpy())
        self.tags_: list[str] = gold.drop_nulls().unique().sort().to_list()
        if len(self.tags_) < 2:
            raise CorpusError(f"MaxEntTagger: column {labels!r} has fewer than two labels")
        codes = np.searchsorted(np.array(self.tags_), gold[known].to_numpy().astype(str))
        encoded = encode(corpus, min_count=self.min_count)
        self._learn_features(encoded, self.vectors if vectors is None else vectors)
        found = self._features(encoded)
        with fold_progress("MaxEntTagger", 2 + _FOLDS if self.context else 1, show_progress):
            self._rounds = [self._regression(found[known], codes)]
            if self.context:
                shares = self._held_out_shares(encoded, found, known, codes)
                around = _around(corpus, shares)
                self._rounds.append(
                    self._regression(sparse.hstack((found, around), "csr")[known], codes)
                )
        return self

    def _learn_features(self, encoded: Encoded, vectors: str | WordVectors) -> None:
        self.vocabulary_ = encoded.vocabulary
        pairs, counts = np.unique(_pairs(encoded)[1], return_counts=True)
        self._pairs = pairs[counts >= self.min_count]
        self._pooling: WordPooling | None = None
        if self.features != "words":
            known = word_vectors_of(encoded, vectors)
            self._pooling = learn_pooling(encoded, known, whiten=self.whiten)

    def _features(self, encoded: Encoded) -> sparse.csr_array:
        """Return what the first round sees of each message, (n_messages, n_features)."""
        parts: list[Any] = []
        if self.features != "vectors":
            parts += [word_counts(encoded), self._pair_counts(encoded)]
        if self._pooling is not None:
            parts.append(sparse.csr_array(self._pooling(encoded)))
        return sparse.csr_array(sparse.hstack(parts, "csr"))

    def _pair_counts(self, encoded: Encoded) -> sparse.csr_array:
        messages, pairs = _pairs(encoded)
        columns = np.searchsorted(self._pairs, pairs)
        columns[columns == len(self._pairs)] = 0
        known = self._pairs[columns] == pairs if len(self._pairs) else np.zeros(len(pairs), bool)
        shape = (encoded.n_messages, len(self._pairs))
        ones = np.ones(int(known.sum()))
        return sparse.coo_array((ones, (messages[known], columns[known])), shape).tocsr()

    def _regression(self, found: sparse.csr_array, codes: NDArray[np.int64]) -> Any:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(C=1 / self.penalty, max_iter=self.max_iter, tol=1e-3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # max_iter was asked for
            model.fit(found, codes)
        report_progress(1.0)
        return model

    def _held_out_shares(
        self,
        encoded: Encoded,
        found: sparse.csr_array,
        known: NDArray[np.int64],
        codes: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return first-round tags of all messages, each from conversations that it is not in."""
        lengths = np.diff(encoded.conversation_offsets)
        conversations = np.repeat(np.arange(len(lengths)), lengths)
        folds = rng.unnamed(self.random_state).permutation(len(lengths)) % _FOLDS
        shares = np.zeros((encoded.n_messages, len(self.tags_)))
        for fold in range(_FOLDS):
            inside = folds[conversations] == fold
            taught = ~inside[known]
            first = self._rounds[0]
            if len(np.unique(codes[taught])) > 1:
                first = self._regression(found[known[taught]], codes[taught])
            if inside.any():
                part = first.predict_proba(found[np.flatnonzero(inside)])
                shares[np.ix_(inside, first.classes_)] = part
        return shares

    def _check_fitted(self) -> None:
        if not hasattr(self, "_rounds"):
            raise NotFittedError("MaxEntTagger: not fitted yet; call fit(corpus, labels=...)")

    def predict_proba(self, corpus: Corpus) -> NDArray[np.float64]:
        """Return the probability of each tag for each message, (n_messages, n_tags)."""
        self._check_fitted()
        found = self._features(encode(corpus, self.vocabulary_))
        shares = np.asarray(self._rounds[0].predict_proba(found))
        if self.context:
            around = _around(corpus, shares)
            shares = self._rounds[1].predict_proba(sparse.hstack((found, around), "csr"))
        return np.asarray(shares)

    def predict(self, corpus: Corpus) -> NDArray[np.str_]:
        """Return the likeliest tag of each message."""
        likeliest = self.predict_proba(corpus).argmax(axis=1)
        return np.asarray(np.array(self.tags_)[likeliest])

    def score(self, corpus: Corpus, labels: str | None = None) -> float:
        """Return the share of the labelled messages whose tag is right.

        Parameters
        ----------
        corpus : Corpus
        labels : str, optional
            Column with the labels; that of the training by default.
        """
        self._check_fitted()
        gold = _column(corpus, labels or self.label_)
        known = gold.is_not_null().to_numpy()
        if not known.any():
            raise CorpusError("MaxEntTagger: no message has a label")
        return float((self.predict(corpus)[known] == gold.to_numpy()[known]).mean())


def _column(corpus: Corpus, labels: str) -> pl.Series:
    """Return a column of labels as names, or say which columns there are."""
    if labels not in corpus.table.columns:
        raise ParameterError(
            f"MaxEntTagger: the corpus has no column {labels!r}; it has "
            f"{', '.join(corpus.table.columns)}"
        )
    return corpus.table[labels].cast(pl.String)


def _pairs(encoded: Encoded) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return all pairs of neighbouring words, each with its message; ends count as a word."""
    n_words = len(encoded.vocabulary)
    lengths = np.diff(encoded.message_offsets)
    messages = np.arange(encoded.n_messages)
    places = np.concatenate((np.repeat(messages, lengths), messages, messages))
    order = np.argsort(places * 3 + np.repeat([1, 0, 2], [encoded.n_tokens, *[len(messages)] * 2]),
                       kind="stable")  # fmt: skip
    ends = np.full(2 * len(messages), n_words, np.int64)
    words = np.concatenate((np.asarray(encoded.tokens, np.int64), ends))[order]
    places = places[order]
    together = places[1:] == places[:-1]
    codes = words[:-1] * (n_words + 1) + words[1:]
    return places[1:][together], codes[together]


def _around(corpus: Corpus, shares: NDArray[np.float64]) -> sparse.csr_array:
    """Return the tags of the messages before and after, and whether their speaker is the same.

    Speakers who are not known are taken for different ones.
    """
    speakers = coded(corpus.table["speaker"]).codes
    n, n_labels = shares.shape
    offsets = np.asarray(corpus.conversation_offsets)
    conversations = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    parts = []
    for step in (-1, 1):
        there = np.arange(n) + step
        inside = (there >= 0) & (there < n)
        there = np.clip(there, 0, max(n - 1, 0))
        inside &= conversations[there] == conversations
        same = (inside & (speakers[there] == speakers) & (speakers >= 0))[:, None]
        part = np.hstack((shares[there] * inside[:, None], same, inside[:, None] & ~same))
        parts.append(part.reshape(n, n_labels + 2).astype(float))
    return sparse.csr_array(np.hstack(parts))
