"""Hidden backoff models: dialogue acts from words, with hidden states inside sentences.

Ji & Bilmes (2006). Tags d, states s and words w of the sentences k of a conversation have the joint
probability of section 3 (without states that of section 2, equation 1)::

    P(W, S, D) = prod_k  P(d_k | d_{k-1})
                 prod_i  P(s_{k,i} | s_{k,i-1}, d_k)  P(w_{k,i} | w_{k,i-1}, s_{k,i}, d_k)

States only move forward, and the last factor is a backoff model. What we found out about it is in
``docs/models/hidden_backoff.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encoding import Encoded
from palaver.errors import CorpusError, StoppedError
from palaver.fit.loop import Chain, Fit
from palaver.fit.schedule import Schedule
from palaver.language.backoff import as_cutoffs
from palaver.language.words import END, START, UNKNOWN
from palaver.models.base.fitting import FitOptions
from palaver.models.base.stored import Extras
from palaver.models.taggers.contract import Tagger, tag_statistics
from palaver.models.taggers.hidden_backoff.decoding import (
    SHARD_TOKENS,
    best_tags,
    tag_probabilities,
)
from palaver.models.taggers.hidden_backoff.emitted import graphs_of
from palaver.models.taggers.hidden_backoff.engine import (
    COURSE,
    PHASES,
    HiddenBackoffEngine,
    Rounds,
    TagShard,
)
from palaver.models.taggers.hidden_backoff.layout import StateLayout
from palaver.models.taggers.hidden_backoff.limits import HIDDEN_LIMITS
from palaver.models.taggers.hidden_backoff.search import search_settings
from palaver.models.taggers.hidden_backoff.tables import round_table, state_table
from palaver.models.taggers.hidden_backoff.training import (
    Training,
    make_word_model,
    training_data,
)
from palaver.models.taggers.hidden_backoff.words import (
    Alignment,
    WordModel,
    check_backoff,
    expected_tables,
    word_tables,
)
from palaver.models.taggers.tag_moves import learn_tag_moves
from palaver.parallel.restored import Expected, check_arrays
from palaver.params import Limit


class HiddenBackoffTagger(Tagger):
    """Tagger of dialogue acts with backoff models of words and hidden states inside sentences.

    It is trained by embedded EM, which has no sweeps to choose: ``max_rounds`` and ``tolerance``
    say when it ends, ``n_sweeps_`` counts its steps, and ``trace_`` has their log-likelihoods.

    Parameters
    ----------
    n_states : int, mapping of str to int, or "auto"
        Hidden states of every tag; of some tags, the others having one; or by the lengths of the
        sentences. 1 is the paper's baseline, in which nothing is hidden. A mapping may also say
        how many a tag has after another: ``{"s": 2, "s after q": 1}``.
    backoff : str
        Order in which the parents of a word are dropped, such as ``"state>tag>word"``,
        ``"tag>word"`` or ``"word>state+tag"`` (see docs/language.md). "auto" is the first of
        these; it drops factors and farther words before.
    smoothing : {"modified-kneser-ney", "kneser-ney", "witten-bell"}
        How probability is taken from seen words.
    combine : {"mean", "max", "product", "weighted", "count-weighted"}
        How parallel backoff combines its paths.
    path_weights : mapping of str to float, optional
        For ``combine="weighted"``: weights of the paths, by the parent that each drops first.
    interpolate : bool
        Mix lower orders into the probabilities of seen words; False uses them only for unseen
        words.
    cutoffs : int or list of int
        Counts up to this are treated as unseen; a list has one value per number of parents.
    continuation : bool or "words"
        Where lower orders count contexts instead of occurrences.
    order : int
        Length of n-grams; 2 in the paper.
    min_count : int
        Rarer words are replaced by the unknown word.
    end : bool
        Predict the end of a sentence as a word: length matters for backchannels.
    factors : list of str, optional
        Columns of the corpus that are further parents of words: lists with one value per word, or
        one value per message. They help if words depend on them.
    emitted : list of str, or mapping of str to str, optional
        Columns of the same kind that acts and states generate, as they generate words: a pitch, a
        pause. They help if they depend on the act. A mapping gives each the order in which its
        parents are dropped, ``"state>tag"`` by default; ``word`` can be a parent, too.
    tag_order : {1, 2, 3}
        A tag depends on no, one or two tags before it.
    speaker_change : bool
        A tag also depends on whether the speaker changed.
    word_weight : float
        Power to which the probability of the words is raised when tags are chosen.
    decode : {"viterbi", "sum"}
        Score a sentence by its most likely states, or by the sum over all states, when tags are
        chosen.
    topology : {"forward", "fork"}
        States follow each other; or short and long sentences start in different ones.
    tied : bool or list of lists of str
        States of different tags that share their words, such as ``[["s.1", "q.1"]]``; True ties
        the last states of all tags.
    first_states : {"spread", "random"}
        States that training starts from: evenly along a sentence, or drawn.
    alignment : {"viterbi", "sampled", "averaged"}
        States from which the word model is retrained: the most likely ones; drawn ones; or
        several draws, with a word model each.
    n_alignments : int
        Draws, for "averaged".
    max_rounds, epochs, final_epochs : int
        Rounds of embedded EM at most, EM epochs per round, and epochs after the last round.
    tolerance : float
        Rounds stop when the log-likelihood changes by less than this share of itself.
    random_state : int, Generator or None
        Used by the draws of "random", "sampled" and "averaged" alone.
    n_jobs : int
        Threads.

    Attributes
    ----------
    tags_ : list of str
        In order of first appearance; columns of :meth:`predict_proba`.
    n_states_ : dict of str to int
        Number of states of each tag, and of tags after others where it is another.
    rounds_ : polars.DataFrame
        Log-likelihood of the training sentences after each round and epoch.
    state_words_ : polars.DataFrame
        Characteristic words of each tag and state.
    search_ : polars.DataFrame
        After :meth:`search`: all settings that were tried, with their shares of right tags.

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

    factor_values_: dict[str, list[str]]
    search_: pl.DataFrame
    _words: WordModel
    _tables: list[Alignment]

    def __init__(
        self,
        n_states: int | Mapping[str, int] | str = 1,
        backoff: str = "auto",
        smoothing: str = "modified-kneser-ney",
        combine: str = "mean",
        path_weights: Mapping[str, float] | None = None,
        interpolate: bool = False,
        cutoffs: int | Sequence[int] = 0,
        continuation: bool | str = True,
        order: int = 2,
        min_count: int = 2,
        end: bool = True,
        factors: Sequence[str] | None = None,
        emitted: Sequence[str] | Mapping[str, str] | None = None,
        tag_order: int = 3,
        speaker_change: bool = True,
        word_weight: float = 1.0,
        decode: str = "viterbi",
        topology: str = "forward",
        tied: bool | Sequence[Sequence[str]] = False,
        first_states: str = "spread",
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
        self.smoothing = smoothing
        self.combine = combine
        self.path_weights = path_weights
        self.interpolate = interpolate
        self.cutoffs = cutoffs
        self.continuation = continuation
        self.order = order
        self.min_count = min_count
        self.end = end
        self.factors = factors
        self.emitted = emitted
        self.tag_order = tag_order
        self.speaker_change = speaker_change
        self.word_weight = word_weight
        self.decode = decode
        self.topology = topology
        self.tied = tied
        self.first_states = first_states
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
        graphs_of(self.emitted)

    def _labelled(self, corpus: Corpus | Encoded, labels: str) -> Training:
        return training_data(self, corpus, labels)

    def check_data(self, data: Training) -> None:
        """Refuse a corpus from which nothing can be learned."""
        if not data.n_messages:
            raise CorpusError(f"{type(self).__name__}: the corpus holds no labelled messages")
        tokens = data.sentences.tokens
        if not (tokens > self.end).any() and not (tokens == 0).any():
            raise CorpusError(f"{type(self).__name__}: the labelled messages hold no words")

    def _reads(self, data: Training) -> dict[str, Sequence[Any]]:
        part = data.sentences
        places = (part.message_offsets, part.conversation_offsets)  # of the labelled messages
        found = {**super()._reads(data), "labels": (data.tags, part.tags, *places)}
        if part.factors:
            found["factors"] = (data.factor_values, *part.factors.values())
        if self.speaker_change:
            found["speakers"] = (part.changes,)
        return found

    def _rounds(self) -> Rounds:
        n_alignments = self.n_alignments if self.alignment == "averaged" else 1
        return Rounds(self.max_rounds, self.epochs, self.final_epochs, self.tolerance,
                      self.alignment, n_alignments, self.first_states)  # fmt: skip

    def _engine(self, data: Training) -> HiddenBackoffEngine:
        return HiddenBackoffEngine(data.words, self._rounds(), data.medians)

    def _shards(self, data: Training, engine: HiddenBackoffEngine) -> list[TagShard]:
        """Cut by conversations, at every 100,000 tokens; depends on the data alone."""
        found = []
        sentences = replace(data.sentences, tags=data.variants)
        for first, last in sentences.groups(SHARD_TOKENS):
            part = sentences.part(first, last)
            found.append(TagShard(part, data.words.types(part, with_tags=True), first))
        return found

    def _sampler(self, data: Any) -> str:
        return "embedded EM"

    def _schedule(self) -> Schedule:
        n_sweeps = self._rounds().n_sweeps
        return Schedule(n_sweeps, n_sweeps)

    def _fit(self, data: Training, **options: Unpack[FitOptions]) -> Self:
        options["callbacks"] = [*options.get("callbacks", ()), _is_done]
        return super()._fit(data, **options)

    def _learn(self, fit: Fit, schedule: Schedule, data: Training, seed: int) -> None:
        """Take the last globals as the model; add what the tags alone say."""
        shared = fit.chains[0].shared
        if shared.phase != "done":
            raise StoppedError(f"stopped after {fit.sweep} sweeps, before the embedded EM ended")
        part, self.factor_values_ = data.sentences, data.factor_values
        trace = [row for row in fit.chains[0].trace if row["phase"] < len(PHASES) - 1]
        learned = {
            **{name: array for name, array in shared.arrays.items() if name not in COURSE},
            **data.words.layout.arrays(),
            "tag_moves": self._tag_moves(data),
            **tag_statistics(part.tags, part.conversation_offsets, len(data.tags)),
        }
        self._keep(data, seed, trace, learned)

    def _tag_moves(self, data: Training) -> NDArray[np.float64]:
        """Return how tags follow each other, as ``tag_order`` and ``speaker_change`` say."""
        part = data.sentences
        changes = part.changes if self.speaker_change else None
        return learn_tag_moves(
            part.tags, part.conversation_offsets, len(data.tags), self.tag_order, changes
        )

    def _set_estimates(self) -> None:
        learned = self.chains_[0]
        layout = StateLayout.of_arrays(learned, fork=self.topology == "fork")
        n_words = len(self.vocabulary_)
        shapes = {"start": (layout.n_units,), "moves": (layout.n_units, layout.most)}
        wanted = {n: Expected(shape, least=0) for n, shape in shapes.items()}
        check_arrays(learned, wanted | expected_tables(learned))
        self._words = make_word_model(self, layout, n_words, self.factor_values_)
        self._tables = word_tables(self._words, learned)
        self.n_states_ = layout.named(self.tags_)
        counts = np.zeros((len(self.tags_), n_words))
        np.add.at(counts, layout.tags[layout.unit_tags], learned["unit_words"])
        self._set_tag_estimates(counts)

    def _all_words(self) -> NDArray[np.float64]:
        counts = self.chains_[0]["unit_words"].sum(axis=0)
        return np.asarray(counts / counts.sum())

    def search(
        self,
        train: Corpus | Encoded,
        dev: Corpus | Encoded,
        labels: str = "act",
        *,
        budget: int = 200,
    ) -> Self:
        """Look for better settings on development data, and train with the best.

        Starting from the tagger's parameters, one setting at a time is changed (backoff graph,
        cut-offs, smoothing, unknown words, tags before, length of n-grams, the end of sentences,
        topology, states of each tag) and kept if it tags ``dev`` better, until nothing improves.

        Parameters
        ----------
        train : Corpus or Encoded
            Labelled; what the tagger learns from.
        dev : Corpus or Encoded
            Labelled, with other conversations than ``train``.
        labels : str
            Column with the tags, in both.
        budget : int
            Settings to try at most; each needs a training, except those of the tag chain.

        Returns
        -------
        self
            With the best settings as its parameters, trained on ``train``; all trials are in
            ``search_``.
        """
        self.check_params()
        settings, self.search_ = search_settings(self, train, dev, labels, budget)
        return self.set_params(**settings).fit(train, labels, show_progress=False)

    # using

    def _best(self, corpus: Corpus | Encoded) -> NDArray[np.int32]:
        self._check_fitted()
        return best_tags(self, corpus)

    def predict_proba(self, corpus: Corpus | Encoded) -> NDArray[np.float64]:
        """Return the probability of each tag of each message, summed over the hidden states.

        Returns
        -------
        array of float64, shape (n_messages, n_tags)
            Rows sum to one; columns are ``tags_``.
        """
        self._check_fitted()
        return tag_probabilities(self, corpus)

    @property
    def word_parents_(self) -> list[str]:
        """Names of the parents of words, as backoff graphs use them."""
        self._check_fitted()
        return self._words.parents

    def distinctiveness(self) -> NDArray[np.float64]:
        """Return how much each word tells a tag from all words, in bits, (n_tags, n_words).

        Zero for the unknown word and the end of a sentence, which are no words.
        """
        bits = super().distinctiveness()
        words = self.vocabulary_.words
        bits[:, [i for i, word in enumerate(words) if word in (UNKNOWN, START, END)]] = 0.0
        return bits

    @property
    def rounds_(self) -> pl.DataFrame:
        """Log-likelihood of the training sentences: columns round, phase, log_likelihood."""
        self._check_fitted()
        return round_table(self.trace_, PHASES)

    @property
    def state_words_(self) -> pl.DataFrame:
        """Characteristic words of each state.

        Columns tag, state, share, rank, word, probability.
        """
        self._check_fitted()
        counts = self.chains_[0]["unit_words"]
        layout = self._words.layout
        names = layout.variant_names(self.tags_)
        return state_table(layout, names, self.vocabulary_.words, counts)

    # keeping

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return words of states, rounds, and what :meth:`judge` found."""
        return {"state_words": self.state_words_, "rounds": self.rounds_, **super().tables()}

    def _extras(self) -> Extras:
        content, arrays = super()._extras()
        return {**content, "factor_values": self.factor_values_}, arrays

    def _set_extras(self, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        super()._set_extras(content, arrays)
        if not (self.trace_["phase"] < len(PHASES)).all():
            raise ValueError("trace.phase has an unknown phase")
        found = content["factor_values"]
        names = [*(self.factors or ()), *graphs_of(self.emitted)]
        self.factor_values_ = {name: list(found[name]) for name in names}


def _is_done(sweep: int, chains: Sequence[Chain]) -> bool:
    """End the fit once the embedded EM has."""
    return all(chain.shared.phase == "done" for chain in chains)
