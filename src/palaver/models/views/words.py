"""Words of classes: which are typical of a class, and whether they belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encoding import Encoded
from palaver.evaluate.coherence import npmi
from palaver.params import check, one_of, whole

if TYPE_CHECKING:
    from palaver.models.base.model import Model

_TINY = np.finfo(float).tiny


def distinctiveness(
    class_words: NDArray[np.float64], all_words: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how much each word sets a class apart from all words, in bits, (K, W).

    Parameters
    ----------
    class_words : array of float64, shape (K, W)
        Word probabilities of each class.
    all_words : array of float64, shape (W,)
        Word probabilities over all classes.
    """
    ratio = np.maximum(class_words / np.maximum(all_words, _TINY), _TINY)
    return np.asarray(class_words * np.log2(ratio))


def top_words(model: Model, n: int = 10, by: str = "probability") -> pl.DataFrame:
    """Return the top words of each class; see :meth:`Model.top_words`."""
    limits = {"n": whole(1), "by": one_of("probability", "distinctiveness")}
    check("top_words", limits, {"n": n, "by": by})
    bits = model.distinctiveness()
    score = model.class_words_ if by == "probability" else bits
    telling = model._telling_words()
    if telling is not None:
        score, n = np.where(telling, score, -np.inf), min(n, int(telling.sum()))
    order = np.argsort(-score, axis=1, kind="stable")[:, :n]
    n_classes, size = order.shape
    classes = np.repeat(np.arange(n_classes), size)
    flat = order.ravel()
    words = np.array(model.vocabulary_.words, dtype=object)[flat]
    return pl.DataFrame(
        {
            "class": classes,
            "rank": np.tile(np.arange(1, size + 1), n_classes),
            "word": pl.Series(words.tolist(), dtype=pl.String),
            "probability": model.class_words_[classes, flat],
            "distinctiveness": bits[classes, flat],
        }
    )


def coherence(
    model: Model, corpus: Corpus | Encoded, n_words: int = 10, by: str = "probability"
) -> pl.DataFrame:
    """Return whether top words occur in the same messages; see :meth:`Model.coherence`."""
    encoded = model._encode(corpus)
    check("coherence", {"n_words": whole(2)}, {"n_words": n_words})
    rows = model.top_words(n_words, by).group_by("class", maintain_order=True).agg("word")
    index = encoded.vocabulary.index
    numbers = [[index[word] for word in words] for words in rows["word"]]
    values = npmi(encoded.tokens, encoded.message_offsets, numbers)
    return rows.select(
        "class",
        pl.Series("coherence", values, nan_to_null=True),
        pl.col("word").list.join(" ").alias("words"),
    )
