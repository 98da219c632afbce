"""The contract of taggers: models that learn the labels that people gave to messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encode import Encoded
from palaver.errors import CorpusError
from palaver.models.base.fitting import FitOptions
from palaver.models.base.model import FOLD_SWEEPS, Model
from palaver.models.base.stored import Extras
from palaver.models.taggers.sentences import all_words, label_names

#: Columns of what :meth:`Tagger.judge` keeps, also where there are no rows.
_JUDGED = {
    "confusion": {"label": pl.String, "tag": pl.String, "messages": pl.Int64},
    "errors": {
        "message": pl.Int64, "label": pl.String, "tag": pl.String, "probability": pl.Float64,
        "text": pl.String,
    },
}  # fmt: skip


class Tagger(Model):
    """A model that learns tags from messages that have them, and gives them to others.

    Subclasses turn a corpus into their data (:meth:`_labelled`) and say how probable each tag of
    each message is (:meth:`predict_proba`) and which are the best (:meth:`_best`).

    Attributes
    ----------
    tags_ : list of str
        In order of first appearance; columns of :meth:`predict_proba`.
    label_ : str
        Column that the tags were learned from.
    transitions_ : array of float64, shape (n_tags + 1, n_tags)
        How tags follow each other; rows are the tag before, the last one is the start.
    confusion_, errors_ : polars.DataFrame or None
        What :meth:`judge` found.
    """

    transition_rows: ClassVar[list[str]] = ["start"]
    transition_kind: ClassVar[str] = "probabilities"
    transition_steps = "messages"
    units = "messages"

    tags_: list[str]
    label_: str
    #: What :meth:`judge` found, kept with the model.
    confusion_: pl.DataFrame | None = None
    errors_: pl.DataFrame | None = None

    def _labelled(self, corpus: Corpus | Encoded, labels: str) -> Any:
        """Return the messages with a label as what :meth:`_fit` takes."""
        raise NotImplementedError

    def _best(self, corpus: Corpus | Encoded) -> NDArray[np.int32]:
        """Return the number of the best tag of each message."""
        raise NotImplementedError

    def predict_proba(self, corpus: Corpus | Encoded) -> NDArray[np.float64]:
        """Return the probability of each tag of each message.

        Returns
        -------
        array of float64, shape (n_messages, n_tags)
            Rows sum to one; columns are ``tags_``.
        """
        raise NotImplementedError

    def fit(
        self,
        corpus: Corpus | Encoded,
        labels: str = "act",
        **options: Unpack[FitOptions],
    ) -> Self:
        """Learn the tags of a corpus; messages without a label are left out.

        Parameters
        ----------
        corpus : Corpus or Encoded
        labels : str
            Column with the tags.
        **options : optional
            Folder, checkpoints, executor, callbacks, progress: see :class:`FitOptions`.
        """
        self.check_params()
        return self._fit(
            self._labelled(corpus, labels),
            **options,
        )

    # using

    def _encode(self, corpus: Corpus | Encoded) -> Encoded:
        """Return a corpus with all its words: taggers have an unknown word of their own."""
        self._check_fitted()
        return all_words(corpus)

    def predict(self, corpus: Corpus | Encoded) -> NDArray[np.str_]:
        """Return the tag of each message, those of a conversation chosen together."""
        self._check_fitted()
        return np.array(self.tags_)[self._best(corpus)]

    @property
    def needs_texts(self) -> bool:
        """Words beyond the vocabulary count, too, so whole texts are needed."""
        return True

    def message_classes(
        self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS
    ) -> NDArray[np.int64]:
        """Return the number of the tag of each message, as :meth:`predict` chooses it."""
        return self._best(corpus).astype(np.int64)

    def transform(
        self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS
    ) -> NDArray[np.float64]:
        """Return :meth:`predict_proba`, as models without labels do; nothing is sampled."""
        return self.predict_proba(corpus)

    def _gold(self, corpus: Corpus | Encoded, labels: str | None) -> NDArray[np.str_]:
        """Return the labels of a corpus; "" for none."""
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
            Column with the labels; that of the training by default. Labels that the training
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
        """Return wrongly tagged messages, the surest mistakes first.

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
        """Keep the confusion matrix and examples of errors on a labelled corpus with the model."""
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

    def annotate(self, corpus: Corpus, n_sweeps: int = FOLD_SWEEPS) -> Corpus:
        """Return the corpus with columns tag and tag_probability."""
        tags = self._best(corpus)
        shares = self.predict_proba(corpus)
        rows = np.arange(len(tags))
        names = pl.Series(np.array(self.tags_)[tags], dtype=pl.String)
        return corpus.with_columns(tag=names, tag_probability=pl.Series(shares[rows, tags]))


def tag_scores(confusion: pl.DataFrame) -> pl.DataFrame:
    """Return how well each tag is found, of what :meth:`Tagger.confusion` returned.

    Returns
    -------
    polars.DataFrame
        Columns tag, messages (that have it as their label), precision (share of right ones among
        those tagged so; null for none), recall (share of those that were found), f1; the most
        frequent first.
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
    """Return the share of messages whose tag is their label, of what ``confusion`` returned."""
    messages, is_right = pl.col("messages"), pl.col("label") == pl.col("tag")
    return float(confusion.select(messages.filter(is_right).sum() / messages.sum()).item())
