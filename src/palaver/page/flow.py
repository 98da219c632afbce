"""What follows what in the texts of a page, by rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palaver.corpus.describe import are_roles
from palaver.corpus.table import Corpus
from palaver.models.summary import ModelSummary, messages_before, relative, replies_to

_TALK = 8  # messages per conversation, on average, up to which a line of replies is a thread


@dataclass(frozen=True, eq=False, kw_only=True)
class Flow:
    """Shares of classes, and what follows each.

    Attributes
    ----------
    class_shares : array of float64, shape (n_classes,)
        Share of each rank in the words of these texts that have a class. Ranks go by what
        the model learned from, so in other texts rank 0 need not be the largest.
    following, effects : array of float64, shape (n_classes + 1, n_classes)
        By rank; the start is last.
    observed : bool
        Whether ``following`` was counted in the texts: the model has no transitions, or has
        learned them from other texts or between sentences.
    answered : array of float64, shape (n_classes,), or None
        Replies to each rank in these texts; None where transitions are not about replies.
    steps : {"replies", "messages", "document", "words"}
        Where transitions lead: as in the model, but to the next of the messages also where every
        message answers the one before, as in talk.
    """

    class_shares: NDArray[np.float64]
    following: NDArray[np.float64]
    effects: NDArray[np.float64]
    observed: bool
    answered: NDArray[np.float64] | None
    steps: str


def find_flow(
    summary: ModelSummary,
    corpus: Corpus,
    order: NDArray[np.int64],
    shares: NDArray[np.float64],
    lengths: NDArray[np.int64],
    *,
    same_texts: bool,
    recount: bool = False,
) -> Flow:
    """Take what follows what from the model where it learned it here, else count it.

    A model of sentences learns which sentence follows which; what is said of messages, which have
    several, is counted.

    Parameters
    ----------
    summary : ModelSummary
    corpus : Corpus
    order : array of int64, shape (n_classes,)
        Class number of each rank.
    shares : array of float64, shape (n_messages, n_classes)
        By rank; zero in messages about which the model can say nothing.
    lengths : array of int64, shape (n_messages,)
        How much each message counts.
    same_texts : bool
        Whether the model learned from these texts.
    recount : bool
        Count shares in the texts also where the model has them, of something else.
    """
    learned_shares = same_texts and not recount
    own_shares = summary.class_shares[order] if learned_shares else _weighted(shares, lengths)
    links = summary.transition_steps in ("replies", "messages")
    by_order = summary.transition_steps == "messages"
    parents = messages_before(corpus, np.any(shares, axis=1)) if by_order else corpus.parents
    by_sentence = summary.units == "sentences"  # from the last of a message to the next one's first
    learned = None if links and (by_sentence or not same_texts) else summary.next_shares()
    answered = replies_to(shares, parents) if links else None
    if learned is None:
        following = _counted(parents, shares, lengths, own_shares)
    else:
        following = learned[:, order][[*order.tolist(), len(order)]]
    return Flow(
        class_shares=own_shares,
        following=following,
        effects=relative(following, own_shares, answered),
        observed=learned is None,
        answered=answered,
        steps="messages" if links and (by_order or is_talk(corpus)) else summary.transition_steps,
    )


def is_talk(corpus: Corpus) -> bool:
    """Whether every message answers the one before, in long conversations or those of two roles."""
    first = np.zeros(corpus.n_messages, bool)
    first[corpus.conversation_offsets[:-1][np.diff(corpus.conversation_offsets) > 0]] = True
    expected = np.where(first, -1, np.arange(corpus.n_messages) - 1)
    if not np.array_equal(expected, corpus.parents):
        return False
    return corpus.n_messages > _TALK * max(corpus.n_conversations, 1) or are_roles(corpus)


def _weighted(shares: NDArray[np.float64], lengths: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the shares of some messages, long ones counting more; zero if they have no words."""
    sums = lengths @ shares
    return np.asarray(sums / max(sums.sum(), np.finfo(float).tiny))


def _counted(
    parents: NDArray[np.integer],
    shares: NDArray[np.float64],
    lengths: NDArray[np.int64],
    own_shares: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Count what replies to each rank do, and what starts do; as usual where nothing is known."""
    replies, starts = np.flatnonzero(parents >= 0), parents < 0
    pairs = shares[parents[replies]].T @ shares[replies]
    table = np.vstack((pairs, _weighted(shares[starts], lengths[starts])))
    table = table + 1e-3 * (own_shares + 1e-9)
    return np.asarray(table / table.sum(axis=1, keepdims=True))
