"""What a fitted model answers of any kind: words of classes, who follows whom, who does what."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encode import Encoded, Vocabulary
from palaver.params import check, one_of, whole

FOLD_SWEEPS = 50


class Answers:
    """Tables of a fitted model, made from its estimates and from :meth:`transform`."""

    vocabulary_: Vocabulary
    class_words_: NDArray[np.float64]

    def _check_fitted(self) -> None:
        raise NotImplementedError

    def _encode(self, corpus: Corpus | Encoded) -> Encoded:
        raise NotImplementedError

    def transform(
        self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS
    ) -> NDArray[np.float64]:
        """Return the share of each class in each message; see :class:`Model`."""
        raise NotImplementedError

    def top_words(self, n: int = 10, by: str = "probability") -> pl.DataFrame:
        """Return the words that stand for each class.

        Parameters
        ----------
        n : int
            Words a class.
        by : {"probability", "distinctiveness"}
            What to rank by.

        Returns
        -------
        polars.DataFrame
            Columns class, rank, word, probability, distinctiveness. The last is the word's
            part of the information, in bits, by which the class differs from all words
            together: ``p(w|k) log2(p(w|k) / p(w))``.
        """
        self._check_fitted()
        check("top_words", {"n": whole(1), "by": one_of("probability", "distinctiveness")},
              {"n": n, "by": by})  # fmt: skip
        telling = self.distinctiveness()
        score = self.class_words_ if by == "probability" else telling
        order = np.argsort(-score, axis=1, kind="stable")[:, :n]
        n_classes, size = order.shape
        classes = np.repeat(np.arange(n_classes), size)
        flat = order.ravel()
        words = np.array(self.vocabulary_.words, dtype=object)[flat]
        return pl.DataFrame(
            {
                "class": classes,
                "rank": np.tile(np.arange(1, size + 1), n_classes),
                "word": pl.Series(words.tolist(), dtype=pl.String),
                "probability": self.class_words_[classes, flat],
                "distinctiveness": telling[classes, flat],
            }
        )

    def distinctiveness(self) -> NDArray[np.float64]:
        """Return how much each word tells a class from all words, in bits, (K, W)."""
        overall = np.maximum(self._all_words(), np.finfo(float).tiny)
        ratio = np.maximum(self.class_words_ / overall, np.finfo(float).tiny)
        return np.asarray(self.class_words_ * np.log2(ratio))

    def _all_words(self) -> NDArray[np.float64]:
        """Return the probabilities of words over all classes, (W,)."""
        raise NotImplementedError

    def transitions_table(self, level: float = 0.95) -> pl.DataFrame:
        """Return which class follows which, with intervals from the samples of the chain.

        Parameters
        ----------
        level : float
            Share of the samples within the interval; ``n_samples`` says how many there are.

        Returns
        -------
        polars.DataFrame
            Columns source (a class, "start" or "bias"), target, value (mean over samples: a
            probability, or M4's weight), low, high. Weights that are optimised rather than
            sampled (all but ``M4(weights="sample")``) vary less than they are uncertain. Models
            that keep no samples of them (Gaussian and infinite HMM, taggers) leave low and high
            null.
        """
        from palaver.models.views.transitions import transitions_table

        self._check_fitted()
        return transitions_table(self, level)

    @property
    def needs_texts(self) -> bool:
        """Whether new messages must be given as a :class:`Corpus`: arrays hold no texts."""
        return False

    def message_shares(
        self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS
    ) -> NDArray[np.float64]:
        """Return the share of each class in each message; :meth:`transform` where these are it."""
        return self.transform(corpus, n_sweeps)

    def message_classes(
        self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS
    ) -> NDArray[np.int64]:
        """Return the class with the largest share of each message, (n_messages,)."""
        return np.asarray(self.message_shares(corpus, n_sweeps).argmax(axis=1))

    def known_messages(self, corpus: Corpus | Encoded) -> NDArray[np.bool_]:
        """Return which messages the model can say something of, (n_messages,).

        Those with a known word; what is said of others does not come from themselves.
        """
        return self._encode(corpus).known_words > 0

    def annotate(self, corpus: Corpus, n_sweeps: int = FOLD_SWEEPS) -> Corpus:
        """Return the corpus with columns class, class_probability and share_0, share_1, ...

        ``class`` is the one with the largest share of a message, ``class_probability`` that
        share; all are null for messages without a known word. Write the result with
        :meth:`Corpus.write`.
        """
        read = corpus if self.needs_texts else self._encode(corpus)
        shares = self.message_shares(read, n_sweeps)
        silent = pl.Series(~self.known_messages(read))
        columns = {
            "class": pl.Series(shares.argmax(axis=1).astype(np.int64)),
            "class_probability": pl.Series(shares.max(axis=1)),
        }
        columns |= {f"share_{k}": pl.Series(shares[:, k]) for k in range(shares.shape[1])}
        known = {name: column.set(silent, None) for name, column in columns.items()}
        return corpus.with_columns(**known)

    def shares(
        self,
        corpus: Corpus,
        by: str = "speaker",
        *,
        top: int | None = 20,
        unit: str = "auto",
        level: float = 0.95,
        n_sweeps: int = FOLD_SWEEPS,
        seed: int = 0,
    ) -> pl.DataFrame:
        """Return what groups of messages do: the share of each class, with intervals.

        Every message with a known word counts as one, in parts where it has several classes.

        Parameters
        ----------
        corpus : Corpus
        by : str
            A column ("speaker", "act" ...; a list puts a message into several groups), or
            "year", "month", "week", "day", "weekday", "hour" of the time, in UTC.
        top : int or None
            Groups to keep, the largest; others go into one. Periods are all kept.
        unit : {"auto", "conversation", "message"}
            What is resampled for the intervals. "auto" takes messages in a corpus of fewer
            than 30 conversations, else conversations, whose messages depend on each other.
        level : float
            Share of 1,000 resamples within an interval. It tells of other conversations of
            that kind seen through this model, not of other models.
        n_sweeps : int
            Of :meth:`transform`.
        seed : int

        Returns
        -------
        polars.DataFrame
            Columns group, class, share, low, high (null for fewer than 5 units), overall (of
            all messages), messages, conversations, unit.
        """
        from palaver.models.views.shares import check_shares, shares_table

        self._check_fitted()
        check_shares(corpus, by, top=top, unit=unit, level=level, seed=seed)
        read = corpus if self.needs_texts else self._encode(corpus)
        known = self.known_messages(read)
        shares = self.message_shares(read, n_sweeps)
        return shares_table(shares, corpus, known,
                            by=by, top=top, unit=unit, level=level, seed=seed)  # fmt: skip

    def coherence(
        self, corpus: Corpus | Encoded, n_words: int = 10, by: str = "probability"
    ) -> pl.DataFrame:
        """Return whether the top words of each class occur in the same messages.

        Parameters
        ----------
        corpus : Corpus or Encoded
            Where words are looked for: the training corpus or, better, another one.
        n_words, by
            Which words; as in :meth:`top_words`.

        Returns
        -------
        polars.DataFrame
            Columns class, coherence (mean NPMI of pairs, -1 to 1; null where no two of the
            words occur), words. See :func:`palaver.evaluate.npmi`.
        """
        from palaver.models.views.shares import coherence_table

        encoded = self._encode(corpus)
        check("coherence", {"n_words": whole(2)}, {"n_words": n_words})
        return coherence_table(encoded, self.top_words(n_words, by))
