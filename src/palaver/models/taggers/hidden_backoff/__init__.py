"""Hidden backoff models: dialogue acts from words, with hidden states inside sentences.

Ji & Bilmes (2006); equations and what was found out about them in
``docs/models/hidden_backoff.md``. ::

    d_k   | d_{k-1}                     tags of the sentences of a conversation
    s_k,i | s_{k,i-1}, d_k              states only move forward
    w_k,i | w_{k,i-1}, s_{k,i}, d_k     a backoff model
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encode import Encoded
from palaver.errors import CorpusError, StoppedError
from palaver.fit.loop import Chain, Fit
from palaver.fit.schedule import Schedule
from palaver.fit.trace import trace_table
from palaver.language import Smoothing
from palaver.language.backoff import as_cutoffs
from palaver.language.words import END, START, UNKNOWN
from palaver.models.base.stored import Extras
from palaver.models.taggers.hidden_backoff.decoding import SHARD_TOKENS, Decoding
from palaver.models.taggers.hidden_backoff.engine import (
    PHASES,
    HiddenBackoffEngine,
    Rounds,
    TagShard,
)
from palaver.models.taggers.hidden_backoff.layout import StateLayout, make_layout
from palaver.models.taggers.hidden_backoff.limits import HIDDEN_LIMITS
from palaver.models.taggers.hidden_backoff.moves import learn_tag_moves
from palaver.models.taggers.hidden_backoff.tables import round_table, state_table
from palaver.models.taggers.hidden_backoff.words import WordModel, check_backoff
from palaver.models.taggers.sentences import (
    Sentences,
    all_words,
    as_sentences,
    choose_words,
    coded_factors,
    factor_values,
    label_names,
)
from palaver.params import Limit


class HiddenBackoffTagger(Decoding):
    """Tagger of dialogue acts with backoff models of words and hidden states inside sentences.

    Parameters
    ----------
    n_states : int, mapping of str to int, or "auto"
        Hidden states of every tag; of some tags (one for the others); or by the lengths of the
        sentences. 1 is the paper's baseline, in which nothing is hidden.
    backoff : str
        Which parents of a word are dropped first, as in ``"state>tag>word"``, ``"tag>word"``,
        ``"word>state+tag"`` (see docs/language.md). "auto" is the first of these.
    discount : {"modified-kneser-ney", "kneser-ney", "witten-bell"}
    combine : {"mean", "max", "product", "weighted", "count-weighted"}
        How parallel backoff joins its paths.
    weights : mapping of str to float, optional
        For "weighted": of the path that drops each parent first.
    interpolate : bool
        Mix the lower orders into seen words too, or back off for unseen ones only.
    cutoffs : int or list of int
        Counts up to this are treated as unseen; a list has one for each number of parents.
    continuation : bool or "words"
        Where lower orders count contexts instead of occurrences.
    order : int
        Words of an n-gram; the paper has 2.
    min_count : int
        Words seen less often are the unknown word.
    end : bool
        Predict the end of a sentence as a word: length matters for backchannels.
    factors : list of str, optional
        Columns of the corpus that are further parents of words: lists with a value a word (a
        quantised pitch slope), or one value a message.
    tag_order : {1, 2, 3}
        A tag depends on none, one or two tags before it.
    speaker_change : bool
        A tag depends on whether the speaker changed, too.
    word_weight : float
        Power of the words' probability against the tags' when tags are chosen.
    decode : {"viterbi", "sum"}
        The likeliest states of a sentence, or all of them summed up, when tags are chosen.
    topology : {"forward", "fork"}
        States follow each other; or short and long sentences take different ones first.
    tied : bool or list of lists of str
        States of different tags that share their words, as ``[["s.1", "q.1"]]``; True: the last
        states of all tags.
    alignment : {"viterbi", "sampled", "averaged"}
        States from which the word model is retrained: the likeliest, drawn ones, or several drawn
        ones with a word model each.
    n_alignments : int
        How many, for "averaged".
    max_rounds, epochs, final_epochs : int
        Rounds of embedded EM, EM epochs in each, and after the last.
    tolerance : float
        Relative change of the log-likelihood at which rounds stop.
    random_state : int, Generator or None
    n_jobs : int
        Threads.

    Attributes
    ----------
    n_states_ : dict of str to int
    rounds_ : polars.DataFrame
        Log-likelihood of the training sentences after each round and epoch.
    state_words_ : polars.DataFrame
        Telling words of each tag and state.
    search_ : polars.DataFrame
        After :meth:`search`: every setting tried, with its share of right tags.

    Examples
    --------
    >>> import palaver as pv
    >>> train, test = pv.sample().split(test=0.25, random_state=0)      # doctest: +SKIP
    >>> tagger = pv.HiddenBackoffTagger(n_states=2).fit(train, labels="act")  # doctest: +SKIP
    >>> tagger.score(test)                                              # doctest: +SKIP
    """

    name = "hidden-backoff"
    size_parameter: ClassVar[str] = "n_states"
    limits: ClassVar[dict[str, Limit]] = HIDDEN_LIMITS

    def __init__(
        self,
        n_states: int | Mapping[str, int] | str = 1,
        backoff: str = "auto",
        discount: str = "modified-kneser-ney",
        combine: str = "mean",
        weights: Mapping[str, float] | None = None,
        interpolate: bool = True,
        cutoffs: int | Sequence[int] = 0,
        continuation: bool | str = True,
        order: int = 2,
        min_count: int = 2,
        end: bool = True,
        factors: Sequence[str] | None = None,
        tag_order: int = 2,
        speaker_change: bool = False,
        word_weight: float = 1.0,
        decode: str = "viterbi",
        topology: str = "forward",
        tied: bool | Sequence[Sequence[str]] = False,
        alignment: str = "viterbi",
        n_alignments: int = 5,
        max_rounds: int = 10,
        epochs: int = 3,
        final_epochs: int = 5,
        tolerance: float = 0.002,
        random_state: int | np.random.Generator | None = 0,
        n_jobs: int = 1,
    ) -> None:
        self.n_states = n_states
        self.backoff = backoff
        self.discount = discount
        self.combine = combine
        self.weights = weights
        self.interpolate = interpolate
        self.cutoffs = cutoffs
        self.continuation = continuation
        self.order = order
        self.min_count = min_count
        self.end = end
        self.factors = factors
        self.tag_order = tag_order
        self.speaker_change = speaker_change
        self.word_weight = word_weight
        self.decode = decode
        self.topology = topology
        self.tied = tied
        self.alignment = alignment
        self.n_alignments = n_alignments
        self.max_rounds = max_rounds
        self.epochs = epochs
        self.final_epochs = final_epochs
        self.tolerance = tolerance
        self.random_state = random_state
        self.n_jobs = n_jobs

    # learning

    def check_params(self) -> None:
        """Compare the parameters with their declared limits."""
        super().check_params()
        check_backoff(self.backoff)
        as_cutoffs(self.cutoffs)

    def _labelled(self, corpus: Corpus | Encoded, labels: str) -> Sentences:
        encoded = all_words(corpus)
        self._training = (corpus if self.factors else encoded, labels)
        codes, names = label_names(encoded, labels)
        if not names:
            raise CorpusError(f"{type(self).__name__}: no message has a label in {labels!r}")
        self.tags_, self.label_ = names, labels
        values = factor_values(corpus, self.factors or [], encoded)
        self.factor_values_ = {
            name: column.drop_nulls().unique(maintain_order=True).to_list()
            for name, column in values.items()
        }
        vocabulary = choose_words(encoded, self.min_count, self.end)
        coded = coded_factors(values, self.factor_values_)
        whole = as_sentences(encoded, vocabulary, codes, coded, encoded.fingerprint)
        return whole.take(whole.tags >= 0)

    def _word_model(self, layout: StateLayout, n_words: int) -> WordModel:
        sizes = {name: len(values) for name, values in self.factor_values_.items()}
        smoothing = Smoothing(
            self.discount, self.combine, (), self.interpolate, as_cutoffs(self.cutoffs)
        )
        model = WordModel(
            layout, n_words, self.order, sizes, self.backoff, self.continuation, smoothing
        )
        return model.weighted(self.weights or {})

    def _rounds(self) -> Rounds:
        n_alignments = self.n_alignments if self.alignment == "averaged" else 1
        return Rounds(self.max_rounds, self.epochs, self.final_epochs, self.tolerance,
                      self.alignment, n_alignments)  # fmt: skip

    def _engine(self, data: Sentences) -> HiddenBackoffEngine:
        lengths = np.diff(data.message_offsets) - bool(self.end)
        parts = [lengths[data.tags == tag].astype(float) for tag in range(len(self.tags_))]
        layout = make_layout(self.n_states, self.tags_, parts, self.topology, self.tied)
        medians = np.array([np.median(part) if len(part) else 0.0 for part in parts]) + self.end
        words = self._word_model(layout, len(data.vocabulary))
        return HiddenBackoffEngine(words, self._rounds(), medians)

    def _shards(self, data: Sentences, engine: HiddenBackoffEngine) -> list[TagShard]:
        """Cut by conversations, at every 100,000 tokens; depends on the data alone."""
        found = []
        for first, last in data.groups(SHARD_TOKENS):
            part = data.part(first, last)
            found.append(TagShard(part, engine.words.types(part, with_tags=True), first))
        return found

    def _sampler(self, data: Any) -> str:
        return "embedded EM"

    def _schedule(self) -> Schedule:
        n_sweeps = self._rounds().n_sweeps
        return Schedule(n_sweeps, n_sweeps)

    def _fit(self, data: Sentences, **options: Any) -> Any:
        options["callbacks"] = [*options.get("callbacks", ()), _is_done]
        return super()._fit(data, **options)

    def check_data(self, encoded: Any) -> None:
        """Refuse a corpus from which nothing can be learned."""
        if not encoded.n_messages:
            raise CorpusError(f"{type(self).__name__}: the corpus holds no labelled messages")
        if not (encoded.tokens > self.end).any() and not (encoded.tokens == 0).any():
            raise CorpusError(f"{type(self).__name__}: the labelled messages hold no words")

    def _reads(self, data: Sentences) -> dict[str, Sequence[Any]]:
        places = (data.message_offsets, data.conversation_offsets)  # of the labelled messages
        found = {**super()._reads(data), "labels": (self.tags_, data.tags, *places)}
        if self.factors:
            found["factors"] = (self.factor_values_, *data.factors.values())
        if self.speaker_change:
            found["speakers"] = (data.changes,)
        return found

    def _learn(self, fit: Fit, schedule: Schedule, data: Sentences, seed: int) -> None:
        """Take the last globals as the model; add what the tags alone say."""
        shared = fit.chains[0].shared
        if shared.phase != "done":
            raise StoppedError(f"stopped after {fit.sweep} sweeps, before the embedded EM ended")
        rows = [row for row in fit.chains[0].trace if row["phase"] < len(PHASES) - 1]
        self.vocabulary_, self.seed_, self.fingerprint_ = data.vocabulary, seed, data.fingerprint
        self.n_sweeps_, self.burn_in_ = len(rows), 0
        self.sampler_, self.best_chain_, self.draws_ = self._sampler(data), 0, {}
        self.trace_ = trace_table([rows])
        layout = self._engine(data).words.layout
        n_tags = len(self.tags_)
        self.chains_ = [
            {
                **{name: a for name, a in shared.arrays.items() if name != "progress"},
                "n_states": np.array(layout.n_states),
                "word_tags": layout.word_tags,
                "word_states": layout.word_states,
                "n_word_tags": np.array(layout.n_word_tags),
                "tag_moves": learn_tag_moves(data, n_tags, self.tag_order, self.speaker_change),
                "bigrams": np.exp(learn_tag_moves(data, n_tags, 2, False)[0]),
                "tag_counts": np.bincount(data.tags, minlength=n_tags),
            }
        ]
        self._set_estimates()

    def relearn_tags(self, corpus: Corpus | Encoded, labels: str) -> None:
        """Learn again how tags follow each other, after ``tag_order`` or its like was changed."""
        data = self._labelled(corpus, labels)
        moves = learn_tag_moves(data, len(self.tags_), self.tag_order, self.speaker_change)
        self.chains_[0]["tag_moves"] = moves

    @property
    def word_parents_(self) -> list[str]:
        """Names of the parents of words, as graphs name them."""
        self._check_fitted()
        return self._words.parents

    def _set_estimates(self) -> None:
        best = self.chains_[0]
        layout = StateLayout(
            tuple(best["n_states"].tolist()), self.topology == "fork", best["word_tags"],
            best["word_states"], int(best["n_word_tags"]),
        )  # fmt: skip
        self._words = self._word_model(layout, len(self.vocabulary_))
        engine = HiddenBackoffEngine(self._words, self._rounds(), np.zeros(0))
        self._tables = engine.tables(best)
        self.n_states_ = dict(zip(self.tags_, layout.n_states, strict=True))
        self.transitions_ = best["bigrams"]
        self.class_shares_ = best["tag_counts"] / best["tag_counts"].sum()
        counts = np.zeros((len(self.tags_), len(self.vocabulary_)))
        np.add.at(counts, layout.unit_tags, best["unit_words"])
        self.class_words_ = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)

    def _all_words(self) -> NDArray[np.float64]:
        counts = self.chains_[0]["unit_words"].sum(axis=0)
        return np.asarray(counts / counts.sum())

    def distinctiveness(self) -> NDArray[np.float64]:
        """Return how much each word tells a tag from the others; ends of sentences are no words."""
        telling = super().distinctiveness()
        words = self.vocabulary_.words
        telling[:, [i for i, word in enumerate(words) if word in (UNKNOWN, START, END)]] = 0.0
        return telling

    # using

    @property
    def rounds_(self) -> pl.DataFrame:
        """Log-likelihood of the training sentences: columns round, phase, log_likelihood."""
        self._check_fitted()
        return round_table(self.trace_, PHASES)

    @property
    def state_words_(self) -> pl.DataFrame:
        """The telling words of each state: columns tag, state, share, rank, word, probability."""
        self._check_fitted()
        counts = self.chains_[0]["unit_words"]
        return state_table(self._words.layout, self.tags_, self.vocabulary_.words, counts)

    # keeping

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the telling words of each state, rounds, confusion matrix and errors."""
        return {"state_words": self.state_words_, "rounds": self.rounds_, **super().tables()}

    def _extras(self) -> Extras:
        content, arrays = super()._extras()
        return {**content, "factor_values": self.factor_values_}, arrays

    def _set_extras(self, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        super()._set_extras(content, arrays)
        self.factor_values_ = {name: list(content["factor_values"][name])
                               for name in self.factors or []}  # fmt: skip


def _is_done(sweep: int, chains: Sequence[Chain]) -> bool:
    """End the fit once the embedded EM has."""
    return all(chain.shared.phase == "done" for chain in chains)
