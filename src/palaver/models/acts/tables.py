"""What a fitted model of acts says, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.encoding import Encoded
from palaver.models.acts import names
from palaver.models.acts.kernels.features import expect_features
from palaver.models.acts.units import Units

if TYPE_CHECKING:
    from palaver.models.acts import Acts


def message_shares(posteriors: NDArray[np.float64], units: Units) -> NDArray[np.float64]:
    """Return the mean over the units of each message, (n_messages, n_acts)."""
    if not len(posteriors):
        return posteriors
    starts = np.flatnonzero(np.diff(units.messages, prepend=-1))
    sums = np.add.reduceat(posteriors, starts, axis=0)
    return np.asarray(sums / sums.sum(axis=1, keepdims=True))


def unit_acts(
    posteriors: NDArray[np.float64], units: Units, act_names: Sequence[str]
) -> pl.DataFrame:
    """Return the act of each unit; see :meth:`Acts.unit_acts`."""
    acts, messages = posteriors.argmax(axis=1), units.messages
    starts = np.flatnonzero(np.diff(messages, prepend=-1))
    lengths = np.diff(np.append(starts, len(messages)))
    return pl.DataFrame(
        {
            "message": messages,
            "unit": np.arange(len(messages)) - np.repeat(starts, lengths),
            "act": acts,
            "name": pl.Series(act_names, dtype=pl.String).gather(acts),
            "probability": posteriors.max(axis=1),
        }
    )


def acts_table(model: Acts) -> pl.DataFrame:
    """Return one row per act; see :meth:`Acts.acts_table`."""
    searches = model.agreement_.shape[1]
    return pl.DataFrame(
        {
            "act": np.arange(len(model.class_shares_)),
            "name": model.act_names_,
            "proposed": model.names_are_proposed_,
            "share": model.class_shares_,
            "searches": [f"{n} of {searches}" for n in model._found_by()],
            "agreement": model.agreement_.mean(axis=1),
            "cues": [", ".join(cue) for cue in names.cues(model, 6)],
        }
    ).sort("share", descending=True, maintain_order=True)


def word_shares(
    data: Encoded, units: Units, posteriors: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the word probabilities of each act, (K, W), and how many words it has, (K,).

    Words have the acts of the units that hold them.
    """
    known = np.asarray(data.tokens) >= 0
    tokens = np.asarray(data.tokens)[known]
    before = np.concatenate(([0], np.cumsum(known)))
    counts = np.zeros((len(data.vocabulary), posteriors.shape[1]))
    expect_features(tokens, np.ones(len(tokens)), before[units.offsets], posteriors, counts)
    overall = data.vocabulary.counts / max(data.vocabulary.counts.sum(), 1)
    totals = counts.sum(axis=0)
    words = np.where(totals > 0, counts / np.maximum(totals, 1e-300), overall[:, None])
    return np.ascontiguousarray(words.T), totals
