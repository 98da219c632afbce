"""The infinite HMM as the loop sees it: which engine, with which priors and first states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palaver.encoding import Encoded
from palaver.models.infinite.forms import word_forms
from palaver.models.infinite.types import TypeEngine
from palaver.models.states.emissions.messages import MessageEmissions
from palaver.models.states.emissions.words import WordEmissions
from palaver.models.states.engine import MAX_STATES, StateEngine
from palaver.models.states.priors import Hyperpriors
from palaver.models.states.search import search_sweeps
from palaver.models.states.types import WORD_PRIORS
from palaver.params import real, satisfies, unless_learned

if TYPE_CHECKING:
    from palaver.models.infinite import InfiniteHMM

#: Default of the largest number of states if all occurrences of a word have the same one: the data
#: would call for more, finer than parts of speech.
_MAX_STATES_BY_WORD = 50
#: Parameters of a hyperprior.
PAIR = satisfies(
    "two positive numbers",
    lambda pair: (
        isinstance(pair, list | tuple) and len(pair) == 2 and all(map(real(above=0).admits, pair))
    ),
)


def engine_of(model: InfiniteHMM, data: Encoded) -> StateEngine | TypeEngine:
    """Return the engine that samples the states of words or messages."""
    return _of_types(model, data) if model._by_word else _of_states(model, data)


def _hyperpriors(model: InfiniteHMM) -> Hyperpriors:
    (shape, rate), (first, second) = model.concentration_prior, model.discount_prior
    return Hyperpriors((float(shape), float(rate)), (float(first), float(second)))


def _of_states(model: InfiniteHMM, data: Encoded) -> StateEngine:
    prior = unless_learned(model.word_prior)
    low, high = WORD_PRIORS if prior is None else (prior, prior)
    kind = WordEmissions if model.unit == "word" else MessageEmissions
    begin = model.start
    if begin == "words" or (begin == "types" and (model.unit != "word" or model._tags.n_tags)):
        begin = "emissions"
    searching = 0
    if (model.sampler, model.start, model._tags.n_tags) == ("auto", "types", 0):
        searching = search_sweeps(model._schedule())
    return StateEngine(
        kind(len(data.vocabulary), low, high), model.n_states,
        unless_learned(model.row_concentration), unless_learned(model.state_concentration),
        unless_learned(model.discount), model.first_states, model.max_states or MAX_STATES,
        model._sampler(data) == "dense", model._tags, begin, _hyperpriors(model), searching,
    )  # fmt: skip


def _of_types(model: InfiniteHMM, data: Encoded) -> TypeEngine:
    words = data.vocabulary.words
    forms, n_values = word_forms(words)
    if not model.forms or all(word == str(number) for number, word in enumerate(words)):
        forms, n_values = forms[:, :0], n_values[:0]
    return TypeEngine(
        model.n_states or model.max_states or _MAX_STATES_BY_WORD, model.n_states is not None,
        model.first_states,
        unless_learned(model.row_concentration), unless_learned(model.state_concentration),
        unless_learned(model.discount), unless_learned(model.word_prior), WORD_PRIORS,
        _hyperpriors(model), forms, n_values, model._schedule().burn_in,
    )  # fmt: skip
