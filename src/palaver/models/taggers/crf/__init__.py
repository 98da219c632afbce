"""A linear-chain conditional random field over whole conversations.

Lafferty, McCallum & Pereira (2001). Tags d of the messages k of a conversation, with features x::

    P(d | x)  proportional to  exp( sum_k  x_k . weights[:, d_k] + moves[change_k, d_{k-1}, d_k] )

It sees each message with what is around it, and chooses the tags of a conversation together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, Vocabulary, WordVectors
from palaver.encoding.utterances import (
    SentenceEncoder,
    checked_vectors,
    learn_pooling,
    word_counts,
    word_vectors_of,
)
from palaver.encoding.vocabulary import select_words
from palaver.errors import CorpusError, ParameterError, StoppedError
from palaver.fit.loop import Chain, Fit
from palaver.fit.schedule import Schedule
from palaver.models.base.fitting import FitOptions
from palaver.models.base.stored import Extras
from palaver.models.taggers.contract import Tagger, tag_statistics
from palaver.models.taggers.crf.engine import ChainShard, CRFEngine, split
from palaver.models.taggers.crf.kernels import chain
from palaver.models.taggers.features import BLOCKS, FeatureMap, FeatureSettings, learn_features
from palaver.models.taggers.features.around import turns
from palaver.models.taggers.kernels import tag_chains
from palaver.models.taggers.search import climb
from palaver.models.taggers.sentences import all_words, label_names, with_vocabulary
from palaver.params import Limit, either, nothing, real, satisfies, text, whole

#: Values that the search tries, in this order.
SPACE: dict[str, list[Any]] = {
    "penalty": [2.0, 1.0, 4.0, 0.5, 8.0],
    "features": [None, [name for name in BLOCKS if name != "characters"]],
    "following": [0, 1],
    "previous": [1, 0, 2],
    "min_count": [2, 1, 4],
}
#: Messages of a shard at least.
SHARD_MESSAGES = 50_000
#: Messages that are tagged at a time at least, which limits the memory for features.
_TAG_MESSAGES = 50_000


@dataclass(frozen=True, eq=False)
class LabelledChains:
    """What the field learns from.

    Attributes
    ----------
    encoded : Encoded
        Conversations with all their words.
    features : FeatureMap
    label : str
        Column of the labels.
    tags : list of str
        In alphabetical order.
    codes : array of int32, shape (n_messages,)
        Tag of each message, -1 for none.
    vectors : array of float64, shape (n_messages, M), or None
        Those of the encoder.
    encoder : callable or None
    """

    encoded: Encoded
    features: FeatureMap
    label: str
    tags: list[str]
    codes: NDArray[np.int32]
    vectors: NDArray[np.float64] | None = None
    encoder: SentenceEncoder | None = None

    @property
    def n_messages(self) -> int:
        """Number of messages, with a label or without."""
        return self.encoded.n_messages

    @property
    def n_tokens(self) -> int:
        """Number of words."""
        return self.encoded.n_tokens

    @property
    def vocabulary(self) -> Vocabulary:
        """Words that are told apart."""
        return self.features.vocabulary

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the corpus."""
        return self.encoded.fingerprint


def _are_blocks(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(name in BLOCKS for name in value)


def _are_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)


class CRFTagger(Tagger):
    """Tagger of messages by a conditional random field: messages in context, tags in a chain.

    Parameters
    ----------
    features : list of str, optional
        What is seen of a message, by default all of these: "words", "pairs" of neighbouring words,
        "edges" (beginnings and ends), "characters" (n-grams within words), "length", "turn"
        (changes of speaker, who opened the conversation), "position", "gap" (time since the message
        before), "role" (the column ``role``, or the speakers if they are few and recur).
    previous : int
        How many messages before lend their words and pairs of words.
    following : int
        The same after the message; 0 if messages must be tagged as they come.
    columns : list of str, optional
        Columns of the corpus, of names or numbers, as further features.
    vectors : str or None
        Add an utterance vector: "corpus", or a file of word vectors; see
        :func:`palaver.utterance_vectors`.
    whiten : int or None
        Principal components of the utterance vectors.
    min_count : int
        Drop words, pairs, beginnings and ends seen less often.
    penalty : float
        Weight of the quadratic penalty on all weights.
    max_iter : int
        Steps of L-BFGS at most.
    tolerance : float
        Stop when two steps in a row change the objective by less than this share of itself.
    random_state : int, Generator or None
        Nothing is drawn; there for the sake of uniformity.
    n_jobs : int
        Threads.

    Attributes
    ----------
    tags_ : list of str
        In alphabetical order; columns of :meth:`predict_proba`.
    label_ : str
        Column that the tags were learned from.
    weights_ : array of float32, shape (n_features, n_tags)
    moves_ : array of float64, shape (2, n_tags + 1, n_tags)
        Scores of a tag after a tag; the last row is the start; first where the speaker stays,
        then where the speaker changes.
    rounds_ : polars.DataFrame
        How training went: columns evaluation, steps, log_joint.
    search_ : polars.DataFrame
        After :meth:`search`: all settings that were tried.

    Examples
    --------
    >>> import palaver as pv
    >>> train, test = pv.sample().split(test=0.25)              # doctest: +SKIP
    >>> pv.CRFTagger().fit(train, labels="act").score(test)     # doctest: +SKIP
    """

    name = "crf"
    limits: ClassVar[Mapping[str, Limit]] = {
        "features": either(
            satisfies(f"a list of some of {', '.join(BLOCKS)}", _are_blocks), nothing()
        ),
        "previous": whole(0, 5),
        "following": whole(0, 5),
        "columns": either(satisfies("a list of columns", _are_names), nothing()),
        "vectors": either(text(), nothing()),
        "whiten": either(whole(1), nothing()),
        "min_count": whole(1),
        "penalty": real(above=0),
        "max_iter": whole(1),
        "tolerance": real(0, 1),
        "n_jobs": whole(1),
    }

    weights_: NDArray[np.float32]
    moves_: NDArray[np.float64]
    search_: pl.DataFrame
    #: The encoder that was given to :meth:`fit`, if any.
    encoder_: SentenceEncoder | None = None
    _features: FeatureMap
    _kept: dict[str, Any]

    def __init__(
        self,
        features: Sequence[str] | None = None,
        previous: int = 1,
        following: int = 0,
        columns: Sequence[str] | None = None,
        vectors: str | None = None,
        whiten: int | None = None,
        min_count: int = 2,
        penalty: float = 2.0,
        max_iter: int = 60,
        tolerance: float = 1e-4,
        random_state: int | np.random.Generator | None = 0,
        n_jobs: int = 1,
    ) -> None:
        self.features = features
        self.previous = previous
        self.following = following
        self.columns = columns
        self.vectors = vectors
        self.whiten = whiten
        self.min_count = min_count
        self.penalty = penalty
        self.max_iter = max_iter
        self.tolerance = tolerance
        self.random_state = random_state
        self.n_jobs = n_jobs

    # learning

    def fit(
        self,
        corpus: Corpus | Encoded,
        labels: str = "act",
        *,
        vectors: str | WordVectors | SentenceEncoder | None = None,
        **options: Unpack[FitOptions],
    ) -> Self:
        """Learn the tags of a corpus from the messages that have a label.

        Parameters
        ----------
        corpus : Corpus or Encoded
        labels : str
            Column with the tags. Messages without one are part of the chain: all their tags are
            possible. Conversations without any label only teach how frequent words are.
        vectors : optional
            In place of the parameter: also word vectors, or any encoder, a function from a list of
            texts to an array with a row for each. An encoder is not saved: set ``encoder_`` after
            loading.
        **options : optional
            Folder, checkpoints, executor, callbacks, progress: see :class:`FitOptions`.
        """
        self.check_params()
        return self._fit(self._labelled(corpus, labels, vectors), **options)

    def _settings(self) -> FeatureSettings:
        columns = tuple(self.columns or ())
        chosen = BLOCKS if self.features is None else self.features
        blocks = tuple(name for name in BLOCKS if name in chosen)
        return FeatureSettings(blocks, self.previous, self.following, columns, self.min_count)

    def _labelled(
        self,
        corpus: Corpus | Encoded,
        labels: str,
        vectors: str | WordVectors | SentenceEncoder | None = None,
    ) -> LabelledChains:
        encoded = all_words(corpus)
        codes, names = label_names(encoded, labels)
        if not names:
            raise CorpusError(f"{type(self).__name__}: no message has a label in {labels!r}")
        words = encoded.vocabulary
        vocabulary = select_words(
            words.words, words.counts, np.zeros(len(words), np.int64), encoded.n_messages,
            min_count=self.min_count,
        )  # fmt: skip
        known = with_vocabulary(encoded, vocabulary)
        self.check_data(known)
        source = self.vectors if vectors is None else vectors
        pooling = rows = encoder = None
        if callable(source):
            encoder, rows = source, _encoded_texts(source, corpus)
        elif source is not None:
            pooling = learn_pooling(known, word_vectors_of(known, source), whiten=self.whiten)
        features = learn_features(encoded, vocabulary, self._settings(), labels, pooling, rows)
        tags = sorted(names)
        order = np.array([*(tags.index(name) for name in names), -1], np.int32)
        return LabelledChains(encoded, features, labels, tags, order[codes], rows, encoder)

    def _reads(self, data: LabelledChains) -> dict[str, Sequence[Any]]:
        found = {**super()._reads(data), "labels": (data.tags, data.codes)}
        found["speakers"] = (data.encoded.speakers.codes,)
        if data.features.pooling is not None:
            found["word vectors"] = (data.features.pooling.word_vectors,)
        if data.vectors is not None:
            found["encoder's vectors"] = (data.vectors,)
        names = [name for name in data.features.names if name != "speaker"]
        if names or data.features.scales:
            found["columns"] = (
                *(data.encoded.labels[name].codes for name in names),
                *(data.encoded.numbers[name] for name in data.features.scales),
            )
        return found

    def _engine(self, data: LabelledChains) -> CRFEngine:
        size = (data.features.size, len(data.tags))
        return CRFEngine(*size, self.penalty, self.max_iter, self.tolerance)

    def _shards(self, data: LabelledChains, engine: CRFEngine) -> list[ChainShard]:
        """Cut by conversations, at every 50,000 messages; depends on the data alone."""
        table = data.features(data.encoded, data.vectors)
        kinds = (turns(data.encoded) > 0).astype(np.int8)
        offsets = np.asarray(data.encoded.conversation_offsets)
        return [
            _part(table, kinds, data.codes, offsets[first : last + 1])
            for first, last in _groups(offsets, SHARD_MESSAGES)
        ]

    def _sampler(self, data: Any) -> str:
        return "L-BFGS"

    def _schedule(self) -> Schedule:
        n_sweeps = CRFEngine(0, 0, self.penalty, self.max_iter, self.tolerance).n_sweeps
        return Schedule(n_sweeps, n_sweeps)

    def _fit(self, data: LabelledChains, **options: Unpack[FitOptions]) -> Self:
        options["callbacks"] = [*options.get("callbacks", ()), _is_done]
        return super()._fit(data, **options)

    def _learn(self, fit: Fit, schedule: Schedule, data: LabelledChains, seed: int) -> None:
        """Take the last globals as the model; add what the labels alone say."""
        shared = fit.chains[0].shared
        if shared.phase != "done":
            raise StoppedError(f"stopped after {fit.sweep} sweeps, before the descent ended")
        weights, moves = split(shared.arrays["point"], data.features.size, len(data.tags))
        rows = np.flatnonzero(data.codes >= 0)
        codes, n_tags = data.codes[rows], len(data.tags)
        known = with_vocabulary(data.encoded, data.vocabulary)
        counts = word_counts(known)[rows]
        ones = np.ones(len(rows))
        by_tag = sparse.csr_array((ones, (codes, np.arange(len(rows)))), (n_tags, len(rows)))
        before = np.concatenate(([0], np.cumsum(data.codes >= 0)))
        offsets = before[data.encoded.conversation_offsets]  # among the labelled messages
        learned = {
            "weights": weights,
            "moves": moves.astype(np.float64),
            **data.features.arrays(),
            "tag_words": (by_tag @ counts).toarray().astype(np.int64),
            **tag_statistics(codes, offsets, n_tags),
        }
        self._kept, self.encoder_ = data.features.content(), data.encoder
        n_evaluations = int(shared.arrays["course"][0])  # a resumed run may have idled after these
        self._keep(data, seed, fit.chains[0].trace[:n_evaluations], learned)

    def _set_estimates(self) -> None:
        learned, n_tags = self.chains_[0], len(self.tags_)
        self._features = FeatureMap.of(self._settings(), self.vocabulary_, learned, self._kept)
        self.weights_, self.moves_ = learned["weights"], learned["moves"]
        if self.weights_.shape != (self._features.size, n_tags):
            raise ValueError("the weights do not belong to the tags and features")
        if self.moves_.shape != (2, n_tags + 1, n_tags):
            raise ValueError("the moves do not belong to the tags")
        self._set_tag_estimates(learned["tag_words"])

    def _all_words(self) -> NDArray[np.float64]:
        counts = self.chains_[0]["tag_words"].sum(axis=0)
        return np.asarray(counts / max(counts.sum(), 1))

    def search(
        self,
        train: Corpus | Encoded,
        dev: Corpus | Encoded,
        labels: str = "act",
        *,
        budget: int = 20,
    ) -> Self:
        """Look for better settings on development data, and train with the best.

        Starting from the tagger's parameters, one setting at a time is changed (penalty, features,
        messages around, rare words) and kept if it tags ``dev`` better, until nothing improves.

        Parameters
        ----------
        train : Corpus or Encoded
            Labelled; what the tagger learns from.
        dev : Corpus or Encoded
            Labelled, with other conversations than ``train``.
        labels : str
            Column with the tags, in both.
        budget : int
            Settings to try at most; each needs a training.

        Returns
        -------
        self
            With the best settings as its parameters, trained on ``train``; all trials are in
            ``search_``.
        """
        self.check_params()
        parts, params = (all_words(train), all_words(dev)), self.get_params()

        def evaluate(settings: dict[str, Any]) -> float:
            fresh = type(self)(**{**params, **settings})
            return fresh.fit(parts[0], labels, show_progress=False).score(parts[1], labels)

        def steps(best: dict[str, Any]) -> Iterator[dict[str, Any]]:
            yield from ({name: value} for name, values in SPACE.items() for value in values)

        first = {name: params[name] for name in SPACE}
        settings, self.search_ = climb(evaluate, first, steps, budget)
        return self.set_params(**settings).fit(parts[0], labels, show_progress=False)

    # using

    def _scored(self, corpus: Corpus | Encoded) -> list[tuple[ChainShard, NDArray[np.float64]]]:
        """Return parts of a corpus, each with the scores of its messages' tags."""
        self._check_fitted()
        encoded = all_words(corpus)
        vectors = None
        if self._features.centre is not None:
            if self.encoder_ is None:
                raise ParameterError(
                    "the tagger was trained with an encoder, which is not saved; set "
                    "tagger.encoder_ to the same function"
                )
            vectors = _encoded_texts(self.encoder_, corpus)
        table = self._features(encoded, vectors)
        kinds = (turns(encoded) > 0).astype(np.int8)
        none = np.full(encoded.n_messages, -1, np.int32)
        offsets = np.asarray(encoded.conversation_offsets)
        found = []
        for first, last in _groups(offsets, _TAG_MESSAGES):
            part = _part(table, kinds, none, offsets[first : last + 1])
            scores = np.empty((len(part.tags), len(self.tags_)))
            chain.score(part.offsets, part.columns, part.values, self.weights_, scores)
            found.append((part, scores))
        return found

    def predict_proba(self, corpus: Corpus | Encoded) -> NDArray[np.float64]:
        """Return the probability of each tag of each message, given the whole conversation.

        Returns
        -------
        array of float64, shape (n_messages, n_tags)
            Rows sum to one; columns are ``tags_``.
        """
        found = [np.zeros((0, len(getattr(self, "tags_", []))))]
        for part, scores in self._scored(corpus):
            shares = np.empty_like(scores)
            chain.posteriors_of(scores, part.kinds, part.conversations, self.moves_, shares)
            found.append(shares)
        return np.concatenate(found)

    def _best(self, corpus: Corpus | Encoded) -> NDArray[np.int32]:
        found = [np.zeros(0, np.int32)]
        for part, scores in self._scored(corpus):
            tags = np.empty(len(scores), np.int32)
            tag_chains.best_tags(scores, part.kinds, part.conversations, self.moves_, tags)
            found.append(tags)
        return np.concatenate(found)

    @property
    def rounds_(self) -> pl.DataFrame:
        """How training went: columns evaluation, steps, log_joint.

        ``log_joint`` is the log-likelihood of the labels minus the penalty, at the best point.
        """
        self._check_fitted()
        return self.trace_.select(
            evaluation="sweep", steps=pl.col("steps").cast(pl.Int64), log_joint="log_joint"
        )

    def feature_weights(self, n: int = 10) -> pl.DataFrame:
        """Return the features that speak most for each tag.

        Returns
        -------
        polars.DataFrame
            Columns tag, rank, feature, weight (against the mean of all tags). Features are of
            different sizes, so compare words with words.
        """
        self._check_fitted()
        names = self._features.feature_names()
        centred = self.weights_ - self.weights_.mean(axis=1, keepdims=True)
        rows = []
        for number, tag in enumerate(self.tags_):
            for rank, row in enumerate(np.argsort(-centred[:, number], kind="stable")[:n], 1):
                rows.append((tag, rank, names[row], float(centred[row, number])))
        schema = {"tag": pl.String, "rank": pl.Int64, "feature": pl.String, "weight": pl.Float64}
        return pl.DataFrame(rows, schema, orient="row")

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the strongest features, the course of training, and what :meth:`judge` found."""
        own = {"feature_weights": self.feature_weights(), "rounds": self.rounds_}
        return {**own, **super().tables()}

    # keeping

    def _extras(self) -> Extras:
        content, arrays = super()._extras()
        return {**content, "features": self._kept}, arrays

    def _set_extras(self, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        super()._set_extras(content, arrays)
        self._kept = dict(content["features"])


def _encoded_texts(encoder: SentenceEncoder, corpus: Corpus | Encoded) -> NDArray[np.float64]:
    """Return an encoder's vectors of all messages, (n_messages, M)."""
    if not isinstance(corpus, Corpus):
        raise ParameterError("an encoder reads texts: give a Corpus, not an Encoded")
    vectors = checked_vectors(encoder(corpus.table["text"].to_list()))
    if len(vectors) != corpus.n_messages:
        raise ParameterError(
            f"the encoder made {len(vectors):,} vectors of {corpus.n_messages:,} texts"
        )
    return vectors


def _groups(offsets: NDArray[np.int64], n_messages: int) -> list[tuple[int, int]]:
    """Return groups of conversations (first, last + 1) of at least ``n_messages`` messages."""
    groups, first, begun = [], 0, 0
    ends = offsets[1:].tolist()
    for number, end in enumerate(ends, 1):
        if end - begun >= n_messages or number == len(ends):
            groups.append((first, number))
            first, begun = number, end
    return groups


def _part(
    table: sparse.csr_array,
    kinds: NDArray[np.int8],
    tags: NDArray[np.int32],
    conversations: NDArray[np.int64],
) -> ChainShard:
    """Return the messages of some conversations."""
    first, last = int(conversations[0]), int(conversations[-1])
    begin, end = int(table.indptr[first]), int(table.indptr[last])
    return ChainShard(
        table.indptr[first : last + 1].astype(np.int64) - begin,
        table.indices[begin:end].astype(np.int32, copy=False),
        table.data[begin:end], kinds[first:last], tags[first:last], conversations - first,
    )  # fmt: skip


def _is_done(sweep: int, chains: Sequence[Chain]) -> bool:
    """End the fit once the descent has."""
    return all(chain.shared.phase == "done" for chain in chains)
