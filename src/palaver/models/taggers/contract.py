"""The contract of taggers: models that learn the labels people gave to messages."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, Vocabulary
from palaver.errors import CorpusError
from palaver.fit.trace import trace_table
from palaver.models.base.fitting import FitOptions
from palaver.models.base.model import FOLD_SWEEPS, Model
from palaver.models.base.stored import Extras
from palaver.models.taggers.sentences import all_words, label_names, with_vocabulary
from palaver.models.taggers.tag_moves import learn_tag_moves
from palaver.parallel import Arrays

#: Columns of what :meth:`Tagger.judge` keeps, also if there are no rows.
_JUDGED = {
    "confusion": {"label": pl.String, "tag": pl.String, "messages": pl.Int64},
    "errors": {
        "message": pl.Int64, "label": pl.String, "tag": pl.String, "probability": pl.Float64,
        "text": pl.String,
    },
}  # fmt: skip

#: Columns of a trace that count something.
_COUNTED = {"round", "steps", "phase"}


class LabelledData(Protocol):
    """What a tagger learns from, as :meth:`Tagger._labelled` returns it."""

    @property
    def label(self) -> str:
        """Column of the labels."""
        ...

    @property
    def tags(self) -> list[str]:
        """Names of the tags."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """Words that the tagger tells apart."""
        ...

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the corpus."""
        ...


class Tagger(Model):
    """A model that learns tags from messages that have them, and gives them to others.

    A subclass turns a corpus into its data (:meth:`_labelled`), which the loop fits as it does for
    every model, and keeps what was learned (:meth:`_learn`, with :meth:`_keep`). It says how
    probable each tag of each message is (:meth:`predict_proba`) and which is best (:meth:`_best`).

    Attributes
    ----------
    tags_ : list of str
        Columns of :meth:`predict_proba`.
    label_ : str
        Column that the tags were learned from.
    transitions_ : array of float64, shape (n_tags + 1, n_tags)
        How the labels of the training follow each other; rows are the tag before, the last one
        is the start.
    confusion_, errors_ : polars.DataFrame or None
        What :meth:`judge` found.
    """

    transition_rows: ClassVar[list[str]] = ["start"]
    transition_kind: ClassVar[str] = "probabilities"
    transition_steps = "messages"
    #: Whether :meth:`fit` takes ``classes``, a model whose classes are features.
    takes_classes: ClassVar[bool] = False
    units = "messages"

    tags_: list[str]
    label_: str
    #: What :meth:`judge` found, kept with the model.
    confusion_: pl.DataFrame | None = None
    errors_: pl.DataFrame | None = None

    @abstractmethod
    def _labelled(self, corpus: Corpus | Encoded, labels: str) -> LabelledData:
        """Return the messages with a label as what :meth:`_fit` takes."""

    @abstractmethod
    def _best(self, corpus: Corpus | Encoded) -> NDArray[np.int32]:
        """Return the number of the best tag of each message, (n_messages,)."""

    @abstractmethod
    def predict_proba(self, corpus: Corpus | Encoded) -> NDArray[np.float64]:
        """Return the probability of each tag of each message.

        Returns
        -------
        array of float64, shape (n_messages, n_tags)
            Rows sum to one; columns are ``tags_``.
        """

    def fit(
        self,
        corpus: Corpus | Encoded,
        labels: str = "act",
        **options: Unpack[FitOptions],
    ) -> Self:
        """Learn the tags of a corpus from the messages that have a label.

        Parameters
        ----------
        corpus : Corpus or Encoded
        labels : str
            Column with the tags.
        **options : optional
            Folder, checkpoints, executor, callbacks, progress: see :class:`FitOptions`.
        """
        self.check_params()
        return self._fit(self._labelled(corpus, labels), **options)

    def _keep(
        self, data: LabelledData, seed: int, trace: Sequence[dict[str, float]], learned: Arrays
    ) -> None:
        """Set what every tagger learns from a fit; what was judged before no longer holds.

        Parameters
        ----------
        data : LabelledData
        seed : int
        trace : sequence of dict
            What each sweep reported.
        learned : dict of str to array
            The one chain of a tagger, with the arrays of :func:`tag_statistics` among them.
        """
        self.tags_, self.label_ = data.tags, data.label
        self.vocabulary_, self.seed_, self.fingerprint_ = data.vocabulary, seed, data.fingerprint
        self.n_sweeps_, self.burn_in_ = len(trace), 0
        self.sampler_, self.best_chain_, self.draws_ = self._sampler(data), 0, {}
        self.trace_, self.chains_ = trace_table([trace]), [learned]
        self.confusion_ = self.errors_ = None
        self._set_estimates()

    def _set_tag_estimates(self, counts: NDArray[Any]) -> None:
        """Set the estimates that all taggers have in common.

        Parameters
        ----------
        counts : array, shape (n_tags, n_words)
            How often each word occurs in the labelled messages of each tag.
        """
        learned = self.chains_[0]
        self.transitions_ = learned["bigrams"]
        self.class_shares_ = learned["tag_counts"] / learned["tag_counts"].sum()
        self.class_words_ = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)

    # using

    def _encode(self, corpus: Corpus | Encoded) -> Encoded:
        self._check_fitted()
        return with_vocabulary(corpus, self.vocabulary_)

    def known_messages(self, corpus: Corpus | Encoded) -> NDArray[np.bool_]:
        """Return which messages have a word, known to the tagger or not, (n_messages,)."""
        self._check_fitted()
        return all_words(corpus).known_words > 0

    def predict(self, corpus: Corpus | Encoded) -> NDArray[np.str_]:
        """Return the tag of each message."""
        self._check_fitted()
        return np.array(self.tags_)[self._best(corpus)]

    @property
    def needs_texts(self) -> bool:
        """Words outside the vocabulary count as well, so whole texts are needed."""
        return True

    def message_classes(
        self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS
    ) -> NDArray[np.int64]:
        """Return the number of the tag of each message, as :meth:`predict` chooses it."""
        return self._best(corpus).astype(np.int64)

    def transform(
        self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS
    ) -> NDArray[np.float64]:
        """Return :meth:`predict_proba`; nothing is sampled, so ``n_sweeps`` is ignored."""
        return self.predict_proba(corpus)

    def _gold(self, corpus: Corpus | Encoded, labels: str | None) -> NDArray[np.str_]:
        """Return the labels of a corpus, (n_messages,); "" for none."""
        self._check_fitted()
        codes, names = label_names(all_words(corpus), labels or self.label_)
        if not (codes >= 0).any():
            raise CorpusError(f"{type(self).__name__}: no message has a label")
        return np.array([*names, ""])[codes]

    def score(self, corpus: Corpus | Encoded, labels: str | None = None) -> float:
        """Return the share of the labelled messages whose tag is right.

        Parameters
        ----------
        corpus : Corpus or Encoded
        labels : str, optional
            Column with the labels; by default that of the training. Labels that the training
            did not have count as errors.
        """
        gold = self._gold(corpus, labels)
        known = gold != ""
        return float((self.predict(corpus)[known] == gold[known]).mean())

    def confusion(self, corpus: Corpus | Encoded, labels: str | None = None) -> pl.DataFrame:
        """Return how often each label got each tag.

        Returns
        -------
        polars.DataFrame
            Columns label, tag, messages; pairs that do not occur are left out.
        """
        gold = self._gold(corpus, labels)
        pairs = pl.DataFrame({"label": gold, "tag": self.predict(corpus)})
        return (
            pairs.filter(pl.col("label") != "")
            .group_by("label", "tag")
            .len("messages")
            .sort("label", "tag")
            .cast({"messages": pl.Int64})
        )

    def errors(self, corpus: Corpus, labels: str | None = None, n: int = 20) -> pl.DataFrame:
        """Return wrongly tagged messages, those with the most probable tags first.

        Returns
        -------
        polars.DataFrame
            Columns message (row in the corpus), label, tag, probability, text.
        """
        gold = self._gold(corpus, labels)
        tags = self.predict(corpus)
        shares = self.predict_proba(corpus).max(axis=1)
        table = pl.DataFrame(
            {
                "message": np.arange(len(gold)),
                "label": gold,
                "tag": tags,
                "probability": shares,
                "text": corpus.table["text"],
            }
        )
        wrong = table.filter((pl.col("label") != "") & (pl.col("label") != pl.col("tag")))
        return wrong.sort("probability", descending=True, maintain_order=True).head(n)

    def judge(self, corpus: Corpus, labels: str | None = None, n_errors: int = 50) -> Self:
        """Tag a labelled corpus; keep the confusion matrix and examples of errors."""
        self.confusion_ = self.confusion(corpus, labels)
        self.errors_ = self.errors(corpus, labels, n_errors)
        return self

    @property
    def accuracy_(self) -> float | None:
        """Share of right tags that :meth:`judge` found."""
        if self.confusion_ is None:
            return None
        return share_right(self.confusion_)

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the confusion matrix and the errors that :meth:`judge` found."""
        kept = {"confusion": self.confusion_, "errors": self.errors_}
        return {name: table for name, table in kept.items() if table is not None}

    # keeping

    def _extras(self) -> Extras:
        judged = {name: getattr(self, f"{name}_") for name in _JUDGED}
        tables = {name: table.to_dicts() for name, table in judged.items() if table is not None}
        return {"tags": self.tags_, "label": self.label_, **tables}, {}

    def _set_extras(self, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        self.tags_, self.label_ = list(content["tags"]), str(content["label"])
        for name, schema in _JUDGED.items():
            if name in content:
                setattr(self, f"{name}_", pl.DataFrame(content[name], schema=schema))
        for name in _COUNTED & set(self.trace_.columns):
            values = self.trace_[name].to_numpy()
            if not (np.isfinite(values) & (values >= 0) & (values == np.floor(values))).all():
                raise ValueError(f"trace.{name} does not count")

    def annotate(self, corpus: Corpus, n_sweeps: int = FOLD_SWEEPS) -> Corpus:
        """Return the corpus with columns tag and tag_probability."""
        tags = self._best(corpus)
        shares = self.predict_proba(corpus)
        rows = np.arange(len(tags))
        names = pl.Series(np.array(self.tags_)[tags], dtype=pl.String)
        return corpus.with_columns(tag=names, tag_probability=pl.Series(shares[rows, tags]))


def tag_statistics(
    tags: NDArray[np.integer], conversation_offsets: NDArray[np.int64], n_tags: int
) -> Arrays:
    """Return what the labels alone say.

    Parameters
    ----------
    tags : array of int, shape (n_messages,)
        Of the labelled messages.
    conversation_offsets : array of int64, shape (n_conversations + 1,)
    n_tags : int

    Returns
    -------
    dict
        tag_counts (n_tags,), how often each tag occurs; bigrams (n_tags + 1, n_tags), how
        probable each is after each other, the last row being the start.
    """
    return {
        "tag_counts": np.bincount(tags, minlength=n_tags),
        "bigrams": np.exp(learn_tag_moves(tags, conversation_offsets, n_tags)[0]),
    }


def tag_scores(confusion: pl.DataFrame) -> pl.DataFrame:
    """Return how well each tag is found, given what :meth:`Tagger.confusion` returned.

    Returns
    -------
    polars.DataFrame
        Columns tag, messages (with this label), precision (share of right ones among the messages
        with this tag; null if there are none), recall (share of the labelled messages that got
        it), f1; the most frequent first.
    """
    right = confusion.filter(pl.col("label") == pl.col("tag")).select("tag", right="messages")
    tagged = confusion.group_by("tag").agg(tagged=pl.col("messages").sum())
    table = (
        confusion.group_by(tag="label")
        .agg(pl.col("messages").sum())
        .join(tagged, on="tag", how="left")
        .join(right, on="tag", how="left")
        .with_columns(pl.col("right", "tagged").fill_null(0))
        .sort("messages", "tag", descending=[True, False])
    )
    found = pl.when(pl.col("tagged") > 0).then(pl.col("right") / pl.col("tagged"))
    return table.select(
        "tag",
        "messages",
        precision=found,
        recall=pl.col("right") / pl.col("messages"),
        f1=2 * pl.col("right") / (pl.col("messages") + pl.col("tagged")),
    )


def most_confused(confusion: pl.DataFrame, n: int = 5) -> pl.DataFrame:
    """Return the most frequent mistakes: columns label, tag, messages, share (of the label)."""
    share = pl.col("messages") / pl.col("messages").sum().over("label")
    return (
        confusion.with_columns(share=share)
        .filter(pl.col("label") != pl.col("tag"))
        .sort("messages", "label", "tag", descending=[True, False, False])
        .head(n)
    )


def share_right(confusion: pl.DataFrame) -> float:
    """Return the share of right tags, given what :meth:`Tagger.confusion` returned."""
    messages, is_right = pl.col("messages"), pl.col("label") == pl.col("tag")
    return float(confusion.select(messages.filter(is_right).sum() / messages.sum()).item())
