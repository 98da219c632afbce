"""What the linear taggers share: features in, tables of weights out.

Maximum entropy and the conditional random field see the same sparse features of messages
(:mod:`palaver.models.taggers.features`); a shard has some conversations of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
from palaver.errors import CorpusError, ParameterError
from palaver.fit.loop import Chain
from palaver.models.base.model import Model
from palaver.models.taggers.classes import names_of_classes, shares_of_classes
from palaver.models.taggers.contract import tag_statistics
from palaver.models.taggers.features import BLOCKS, FeatureMap, FeatureSettings, learn_features
from palaver.models.taggers.features.around import turns
from palaver.models.taggers.search import climb
from palaver.models.taggers.sentences import all_words, label_names, with_vocabulary
from palaver.parallel import Arrays
from palaver.params import Limit, either, nothing, real, satisfies, text, whole

#: A tagger with the parameters of :data:`LINEAR_LIMITS`.
LinearTagger = Any
Vectors = str | WordVectors | SentenceEncoder | None
#: Values that the search tries, in this order.
SPACE: dict[str, list[Any]] = {
    "penalty": [2.0, 1.0, 4.0, 0.5, 8.0],
    "features": [None, [name for name in BLOCKS if name != "characters"]],
    "following": [0, 1],
    "previous": [1, 0, 2],
    "min_count": [2, 1, 4],
}
#: Messages of a shard at least; their number is a power of two, which suits most machines.
SHARD_MESSAGES = 30_000


def _are_blocks(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(name in BLOCKS for name in value)


def _are_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)


#: Limits of the parameters that linear taggers have in common.
LINEAR_LIMITS: dict[str, Limit] = {
    "features": either(satisfies(f"a list of some of {', '.join(BLOCKS)}", _are_blocks), nothing()),
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


@dataclass(frozen=True, eq=False)
class LabelledMessages:
    """What a linear tagger learns from.

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
    classes : Model or None
        The model whose classes are features.
    shares : array of float64, shape (n_messages, K), or None
        Of these classes.
    """

    encoded: Encoded
    features: FeatureMap
    label: str
    tags: list[str]
    codes: NDArray[np.int32]
    vectors: NDArray[np.float64] | None = None
    encoder: SentenceEncoder | None = None
    classes: Model | None = None
    shares: NDArray[np.float64] | None = None

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

    def read(self) -> dict[str, Sequence[Any]]:
        """Return what a checkpoint compares, besides the words."""
        found: dict[str, Sequence[Any]] = {"labels": (self.tags, self.codes)}
        found["speakers"] = (self.encoded.speakers.codes,)
        if self.features.pooling is not None:
            found["word vectors"] = (self.features.pooling.word_vectors,)
        if self.vectors is not None:
            found["encoder's vectors"] = (self.vectors,)
        if self.shares is not None:
            found["classes"] = (self.shares,)
        names = [name for name in self.features.names if name != "speaker"]
        if names or self.features.scales:
            found["columns"] = (
                *(self.encoded.labels[name].codes for name in names),
                *(self.encoded.numbers[name] for name in self.features.scales),
            )
        return found

    def shard(self) -> MessageShard:
        """Return all messages as one shard."""
        return shard_of(self.features, self.encoded, self.vectors, self.shares, self.codes)

    def arrays(self) -> Arrays:
        """Return what is kept with the weights: features, and what the labels alone say."""
        rows = np.flatnonzero(self.codes >= 0)
        codes, n_tags = self.codes[rows], len(self.tags)
        counts = word_counts(with_vocabulary(self.encoded, self.vocabulary))[rows]
        ones = np.ones(len(rows))
        by_tag = sparse.csr_array((ones, (codes, np.arange(len(rows)))), (n_tags, len(rows)))
        before = np.concatenate(([0], np.cumsum(self.codes >= 0)))
        offsets = before[self.encoded.conversation_offsets]  # among the labelled messages
        return {
            **self.features.arrays(),
            "tag_words": (by_tag @ counts).toarray().astype(np.int64),
            **tag_statistics(codes, offsets, n_tags),
        }


@dataclass(frozen=True, eq=False)
class MessageShard:
    """Conversations with features and tags.

    Attributes
    ----------
    offsets, columns, values : arrays
        Rows of the sparse table of features.
    kinds : array of int8, shape (n_messages,)
        1 where the speaker changes.
    tags : array of int32, shape (n_messages,)
        -1 for unknown ones.
    conversations : array of int64, shape (n_conversations + 1,)
    fold : int
        Which half of the conversations it belongs to, for taggers that need halves.
    """

    offsets: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float32]
    kinds: NDArray[np.int8]
    tags: NDArray[np.int32]
    conversations: NDArray[np.int64]
    fold: int = 0

    def part(self, conversations: NDArray[np.int64], fold: int = 0) -> MessageShard:
        """Return some conversations."""
        sizes = np.diff(self.conversations)[conversations]
        ends = np.concatenate(([0], np.cumsum(sizes)))
        rows = np.arange(ends[-1]) + np.repeat(self.conversations[conversations] - ends[:-1], sizes)
        lengths = np.diff(self.offsets)[rows]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return MessageShard(offsets, self.columns[places], self.values[places], self.kinds[rows],
                            self.tags[rows], ends, fold)  # fmt: skip

    def cut(self, conversations: NDArray[np.int64], fold: int = 0) -> list[MessageShard]:
        """Return some conversations in parts; which depends on the data alone."""
        sizes = np.cumsum(np.diff(self.conversations)[conversations])
        whole_size = int(sizes[-1]) if len(sizes) else 0
        n_parts = 1 << max((whole_size // SHARD_MESSAGES).bit_length() - 1, 0)
        limits = np.searchsorted(sizes, whole_size / n_parts * np.arange(1, n_parts))
        return [self.part(part, fold) for part in np.split(conversations, limits) if len(part)]


def sizes(shard: MessageShard, n_features: int, n_tags: int) -> Arrays:
    """Return how large the features of labelled messages are, and how frequent the tags.

    Returns
    -------
    dict
        squares (n_features,): sums of the squares of the features; tags (n_tags,): counts.
    """
    known = shard.tags >= 0
    squares = shard.values.astype(np.float64) ** 2 * np.repeat(known, np.diff(shard.offsets))
    return {
        "squares": np.bincount(shard.columns, squares, n_features),
        "tags": np.bincount(shard.tags[known], minlength=n_tags).astype(np.float64),
    }


def added(left: Arrays, right: Arrays) -> Arrays:
    """Return the sums of two shards' arrays; those of the left one are overwritten if they can be.

    An array that only one of them has is taken as it is.
    """
    both = left.keys() & right.keys()
    sums = {name: np.add(left[name], right[name],
                         out=left[name] if left[name].flags.writeable else None)
            for name in both}  # fmt: skip
    return {**left, **right, **sums}


def shard_of(
    features: FeatureMap,
    encoded: Encoded,
    vectors: NDArray[np.float64] | None,
    shares: NDArray[np.float64] | None,
    codes: NDArray[np.int32] | None = None,
) -> MessageShard:
    """Return all messages of a corpus with their features; without tags by default."""
    table = features(encoded, vectors, shares)
    if codes is None:
        codes = np.full(encoded.n_messages, -1, np.int32)
    return MessageShard(
        table.indptr.astype(np.int64), table.indices.astype(np.int32, copy=False), table.data,
        (turns(encoded) > 0).astype(np.int8), codes, np.asarray(encoded.conversation_offsets),
    )  # fmt: skip


def feature_settings(tagger: LinearTagger) -> FeatureSettings:
    """Return which features a tagger's parameters ask for."""
    columns = tuple(tagger.columns or ())
    chosen = BLOCKS if tagger.features is None else tagger.features
    blocks = tuple(name for name in BLOCKS if name in chosen)
    return FeatureSettings(blocks, tagger.previous, tagger.following, columns, tagger.min_count)


def labelled_messages(
    tagger: LinearTagger,
    corpus: Corpus | Encoded,
    labels: str,
    vectors: Vectors,
    classes: Model | None = None,
) -> LabelledMessages:
    """Return a labelled corpus as a tagger's parameters ask for it.

    Raises
    ------
    CorpusError
        No message has a label, or no word is frequent enough.
    ParameterError
        There is no such column, or the model of the classes has seen labels.
    """
    encoded = all_words(corpus)
    codes, names = label_names(encoded, labels)
    if not names:
        raise CorpusError(f"{type(tagger).__name__}: no message has a label in {labels!r}")
    words = encoded.vocabulary
    vocabulary = select_words(
        words.words, words.counts, np.zeros(len(words), np.int64), encoded.n_messages,
        min_count=tagger.min_count,
    )  # fmt: skip
    known = with_vocabulary(encoded, vocabulary)
    tagger.check_data(known)
    source = tagger.vectors if vectors is None else vectors
    pooling = rows = encoder = None
    if callable(source):
        encoder, rows = source, _encoded_texts(source, corpus)
    elif source is not None:
        pooling = learn_pooling(known, word_vectors_of(known, source), whiten=tagger.whiten)
    settings = feature_settings(tagger)
    shares = None if classes is None else shares_of_classes(classes, corpus)
    called = [] if classes is None else names_of_classes(classes)
    features = learn_features(encoded, vocabulary, settings, labels, pooling, rows, called)
    tags = sorted(names)
    order = np.array([*(tags.index(name) for name in names), -1], np.int32)
    return LabelledMessages(encoded, features, labels, tags, order[codes], rows, encoder,
                            classes, shares)  # fmt: skip


def messages_to_tag(tagger: LinearTagger, corpus: Corpus | Encoded) -> MessageShard:
    """Return the messages of any corpus with the features of a fitted tagger."""
    encoded = all_words(corpus)
    vectors = None
    if tagger._features.centre is not None:
        if tagger.encoder_ is None:
            raise ParameterError(
                "the tagger was trained with an encoder, which is not saved; set "
                "tagger.encoder_ to the same function"
            )
        vectors = _encoded_texts(tagger.encoder_, corpus)
    classes = tagger.classes_
    shares = None if classes is None else shares_of_classes(classes, corpus)
    return shard_of(tagger._features, encoded, vectors, shares)


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


def is_done(sweep: int, chains: Sequence[Chain]) -> bool:
    """End a fit once its last descent has."""
    return all(chain.shared.phase == "done" for chain in chains)


def search_settings(
    tagger: LinearTagger,
    train: Corpus | Encoded,
    dev: Corpus | Encoded,
    labels: str,
    budget: int,
    space: Mapping[str, list[Any]],
) -> tuple[dict[str, Any], pl.DataFrame]:
    """Change one setting at a time, from a tagger's own, and keep what tags ``dev`` better.

    Returns
    -------
    settings : dict
    table : polars.DataFrame
        As in :func:`palaver.models.taggers.search.climb`.
    """
    parts, params = (all_words(train), all_words(dev)), tagger.get_params()

    def evaluate(settings: dict[str, Any]) -> float:
        fresh = type(tagger)(**{**params, **settings})
        fresh.fit(parts[0], labels, show_progress=False)
        return float(fresh.score(parts[1], labels))

    def steps(best: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield from ({name: value} for name, values in space.items() for value in values)

    return climb(evaluate, {name: params[name] for name in space}, steps, budget)


def strongest(
    weights: NDArray[Any], names: Sequence[str], tags: Sequence[str], n: int
) -> pl.DataFrame:
    """Return the features that speak most for each tag.

    Parameters
    ----------
    weights : array, shape (n_features, n_tags)
    names, tags : sequence of str
        Of features and tags.
    n : int
        Features per tag.
    """
    centred = weights - weights.mean(axis=1, keepdims=True)
    rows = []
    for number, tag in enumerate(tags):
        for rank, row in enumerate(np.argsort(-centred[:, number], kind="stable")[:n], 1):
            rows.append((tag, rank, names[row], float(centred[row, number])))
    schema = {"tag": pl.String, "rank": pl.Int64, "feature": pl.String, "weight": pl.Float64}
    return pl.DataFrame(rows, schema, orient="row")
