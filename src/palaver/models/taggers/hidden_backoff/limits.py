"""Limits of the parameters of a hidden backoff tagger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from palaver.language.discounts import DISCOUNTS
from palaver.language.tables import COMBINATIONS
from palaver.models.taggers.hidden_backoff.layout import admits_states
from palaver.params import Limit, either, flag, nothing, one_of, real, satisfies, text, whole


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _is_texts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(text, str) for text in value.values())


HIDDEN_LIMITS: dict[str, Limit] = {
    "n_states": satisfies(
        "a whole number from 1 to 100, a mapping from tags to such numbers, or 'auto'",
        admits_states,
    ),
    "backoff": text(),
    "smoothing": one_of(*DISCOUNTS),
    "combine": one_of(*COMBINATIONS),
    "path_weights": either(satisfies("a mapping", lambda v: isinstance(v, Mapping)), nothing()),
    "interpolate": flag(),
    "cutoffs": either(whole(0), satisfies("a list", _is_list)),
    "continuation": either(flag(), one_of("words")),
    "order": whole(1, 9),
    "min_count": whole(1),
    "end": flag(),
    "factors": either(satisfies("a list", _is_list), nothing()),
    "emitted": either(
        satisfies("a list, or a mapping to graphs", lambda v: _is_list(v) or _is_texts(v)),
        nothing(),
    ),
    "tag_order": whole(1, 3),
    "speaker_change": flag(),
    "word_weight": real(above=0),
    "decode": one_of("viterbi", "sum"),
    "topology": one_of("forward", "fork"),
    "tied": either(flag(), satisfies("a list of lists", _is_list)),
    "first_states": one_of("spread", "random"),
    "alignment": one_of("viterbi", "sampled", "averaged"),
    "n_alignments": whole(1),
    "max_rounds": whole(1),
    "epochs": whole(1),
    "final_epochs": whole(0),
    "tolerance": real(0),
    "n_jobs": whole(1),
}  # fmt: skip
