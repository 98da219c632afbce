"""One model fitted to some conversations and judged on others."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array

from palaver import evaluate
from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, encode
from palaver.errors import ParameterError
from palaver.evaluate.labels import one_per_token
from palaver.fit.progress import Show, fold_progress
from palaver.models import Model, model_class

FOLD_SWEEPS, PAPER_SWEEPS, PARTICLES = 50, 100, 200
REBUILD_SWEEPS, RESTARTS = 200, 2
_TOP_WORDS, _LEAST_CONVERSATIONS = 10, 4


class Parts(NamedTuple):
    """A corpus for trials; all parts share the vocabulary of the first.

    Attributes
    ----------
    train, test, both : Encoded
    train_corpus, test_corpus : Corpus
        The known and the held-out conversations before encoding.
    """

    train: Encoded
    test: Encoded
    both: Encoded
    train_corpus: Corpus
    test_corpus: Corpus


def hold_out(corpus: Corpus, test: float, seed: int, models: Sequence[Model] = ()) -> Parts:
    """Split a corpus by conversations, and encode it with the words of the training part.

    Where there are too few conversations and no replies, messages are documents: each is held out
    or kept by itself. Sentences are found if one of the models needs them; if one sees the view
    "acts", all do.
    """
    if corpus.n_conversations < _LEAST_CONVERSATIONS and not (corpus.parents >= 0).any():
        corpus = _each_apart(corpus)
    if corpus.n_conversations < _LEAST_CONVERSATIONS:
        raise ParameterError(
            f"at least {_LEAST_CONVERSATIONS} conversations are needed to hold some out; "
            f"there are {corpus.n_conversations}"
        )
    train, held_out = corpus.split(test, seed)
    if not train.n_conversations or not held_out.n_conversations:
        raise ParameterError(
            f"test={test:g} of {corpus.n_conversations} conversations leaves none to test on"
        )
    sentences = any(model.needs_sentences for model in models)
    view = "acts" if any(model.view == "acts" for model in models) else "words"
    known = encode(train, sentences=sentences, view=view)
    words = known.vocabulary
    unseen = encode(held_out, words, sentences=sentences)
    parts = Parts(known, unseen, encode(corpus, words, sentences=sentences), train, held_out)
    if not parts.train.n_tokens or not parts.test.n_tokens:
        raise ParameterError("there are too few words to hold any out")
    return parts


def _each_apart(corpus: Corpus) -> Corpus:
    """Return a corpus in which each message is a conversation of its own."""
    names = pl.format("{}/{}", "conversation", pl.int_range(pl.len()))
    return replace(
        corpus,
        table=corpus.table.with_columns(names.alias("conversation")),
        conversation_offsets=np.arange(corpus.n_messages + 1, dtype=np.int64),
    )


@dataclass(frozen=True, eq=False)
class Trial:
    """How good a fitted model is on held-out conversations, as sums that can be resampled.

    Attributes
    ----------
    name : str
        Name of the model.
    n_classes : int
    seconds : float
        Time of all sweeps of the fit, without compilation; NaN if another process did them.
    words_per_second : float
        Speed of the sweeps after the first, over all chains.
    held_out, held_out_paper : array of float64, shape (n_conversations, 2), or None
        Log likelihood and words, by the sequential protocol and the paper's; None for a model
        without a likelihood of words.
    coherence : float
        Mean NPMI of the classes' ten most probable words, in all messages, since the held-out
        part would be too small for rare words to occur together.
    stability : float
        How far two chains found the same classes, see :func:`stability`; NaN for one chain.
    parents : array of float64, shape (n_conversations, 2), or None
        Numbers of right parents and messages; None for a model that does not rebuild replies.
    cells : csr_array or None
        Messages by class and label, one row per conversation; None without labels.
    cells_shape : (int, int)
    """

    name: str
    n_classes: int
    seconds: float
    words_per_second: float
    held_out: NDArray[np.float64] | None
    held_out_paper: NDArray[np.float64] | None
    coherence: float
    stability: float
    parents: NDArray[np.float64] | None = None
    cells: csr_array | None = None
    cells_shape: tuple[int, int] = (0, 0)


def try_model(
    name: str,
    params: Mapping[str, Any],
    parts: Parts,
    *,
    labels: pl.Series | None = None,
    paper: bool = False,
    replies: bool = False,
    folder: Path | None = None,
    show_progress: Show = "auto",
) -> Trial:
    """Fit a model to one part of a corpus and judge it on the other.

    Parameters
    ----------
    name : str
        Name of the model in the registry.
    params : mapping
        Its parameters; those that it does not have are ignored.
    parts : Parts
    labels : polars.Series, optional
        Labels of the test messages.
    paper : bool
        Whether to score by the paper's protocol as well.
    replies : bool
        Whether to rebuild the replies of the held-out conversations.
    folder : path, optional
        Where the fit keeps its checkpoints, so that it can resume after a kill.
    show_progress : bool or "auto"
    """
    model = make_model(name, params)
    likelihood = hasattr(model, "log_likelihoods")
    own = _with_unknown(parts) if model.keeps_unknown else parts
    pace = _timed_fit(model, own.train, folder, show_progress)
    test = own.test
    words = np.diff(test.message_offsets[test.conversation_offsets])
    sequential = scored = parents = None
    with fold_progress(f"judging {name}", show=show_progress):
        if likelihood:
            logs = model.log_likelihoods(test, n_particles=PARTICLES)
            sequential = np.column_stack([logs, words])
        if likelihood and paper and "paper" in getattr(model, "heldout_methods", ("paper",)):
            logs = model.log_likelihoods(test, "paper", n_sweeps=PAPER_SWEEPS)
            scored = np.column_stack([logs, words])
        if replies and hasattr(model, "reconstruct"):
            parents = rebuilt(model, parts)
        cells, shape = None, (0, 0)
        if labels is not None:
            cells, shape = label_cells(_classes_to_judge(model, test, labels), test, labels)
    return Trial(
        model.name,
        len(model.class_shares_),
        pace * len(model.trace_.filter(chain=0)),
        parts.train.n_tokens * len(model.chains_) / pace,
        sequential,
        scored,
        mean_coherence(model, parts.both),
        stability(model),
        parents,
        cells,
        shape,
    )


def _with_unknown(parts: Parts) -> Parts:
    """Return the parts with unknown words in their places, for a model that looks at these."""
    words, sentences = parts.train.vocabulary, len(parts.train.sentence_offsets) > 0
    encoded = [
        encode(corpus, words, sentences=sentences, keep_unknown=True)
        for corpus in (parts.train_corpus, parts.test_corpus)
    ]
    return parts._replace(train=encoded[0], test=encoded[1])


def _timed_fit(model: Any, train: Encoded, folder: Path | None, show_progress: Show) -> float:
    """Fit a model; return the seconds per sweep, NaN if there was none to do."""
    clock = [time.perf_counter()]
    model.fit(
        train,
        folder=folder,
        show_progress=show_progress,
        callbacks=[lambda sweep, chains: clock.append(time.perf_counter())],
    )
    paces = np.diff(clock)
    if len(paces) > 1:  # the first sweep may include compilation
        paces = paces[1:]
    return max(float(paces.mean()), 1e-9) if len(paces) else float("nan")


def make_model(name: str, params: Mapping[str, Any]) -> Any:
    """Return a model with the parameters that it has; all models accept ``n_classes``."""
    kind = model_class(name)
    model = kind()
    known = model.get_params()
    named = {kind.size_parameter if key == "n_classes" else key: params[key] for key in params}
    model.set_params(**{key: value for key, value in named.items() if key in known})
    model.check_params()
    return model


def rebuilt(model: Any, parts: Parts) -> NDArray[np.float64]:
    """Return the numbers of parents that a model finds, and of messages, per conversation."""
    corpus = parts.test_corpus
    found = model.reconstruct(corpus, n_sweeps=REBUILD_SWEEPS, n_restarts=RESTARTS)
    return evaluate.right_parents(found["parent_row"], corpus.parents, corpus.conversation_offsets)


def mean_coherence(model: Model, encoded: Encoded) -> float:
    """Return the mean NPMI of the classes' probable words; NaN if none can be judged."""
    values = model.coherence(encoded, _TOP_WORDS)["coherence"].drop_nulls()
    return float(np.mean(values.to_numpy())) if len(values) else float("nan")


def stability(model: Model) -> float:
    """Return how far chains agree: the share of characteristic words that matched classes share.

    Classes of the best chain are matched one to one with those of each other chain, so that as
    many of their ten most characteristic words as possible are the same. The result is the mean
    over classes and chains, or NaN for a single chain or a model of something other than words.
    """
    chains = model.chains_
    if len(chains) < 2 or "class_words" not in chains[0]:
        return float("nan")
    tops = [_characteristic_words(chain) for chain in chains]
    agreements = []
    for number, other in enumerate(tops):
        if number != model.best_chain_:
            common = tops[model.best_chain_] @ other.T
            rows, columns = linear_sum_assignment(common, maximize=True)
            agreements.append(common[rows, columns].mean())
    return float(np.mean(agreements))


def _characteristic_words(chain: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return a chain's characteristic words by class: 0.1 at ten words per row, (K, W)."""
    shares = chain["class_shares"]
    words = chain["class_words"][:, : len(shares)].T
    overall = np.maximum(shares @ words, np.finfo(float).tiny)
    score = words * np.log2(np.maximum(words / overall, np.finfo(float).tiny))
    size = min(_TOP_WORDS, words.shape[1])
    tops = np.zeros(words.shape)
    chosen = np.argsort(-score, axis=1, kind="stable")[:, :size]
    np.put_along_axis(tops, chosen, size**-0.5, axis=1)
    return tops


def _classes_to_judge(model: Model, test: Encoded, labels: pl.Series) -> NDArray[Any]:
    """Return the classes of words if labels are those of words, else the classes of messages."""
    by_word = one_per_token(labels, np.diff(test.message_offsets))
    if by_word and hasattr(model, "token_classes"):
        found: NDArray[Any] = (
            model.token_classes(test, FOLD_SWEEPS)["class"].fill_null(-1).to_numpy()
        )
        return found
    return model.message_classes(test, FOLD_SWEEPS)


def label_cells(
    classes: NDArray[Any], test: Encoded, labels: pl.Series
) -> tuple[csr_array, tuple[int, int]]:
    """Count the messages, or words, of each conversation by class and label.

    Parameters
    ----------
    classes : array of int, shape (n_messages,) or (n_tokens,)
        A class for every message, so that all models and rivals are judged on the same ones. If
        labels are those of words, every word may have its own; else it has that of its message.
    test : Encoded
    labels : polars.Series, shape (n_messages,)
        A label, or a list of labels, per message; null where there is none. Lists with one label
        per word are those of words.
    """
    lengths = np.diff(test.message_offsets)
    conversation = np.repeat(np.arange(test.n_conversations), np.diff(test.conversation_offsets))
    if one_per_token(labels, lengths):
        if len(classes) != test.n_tokens:
            classes = np.repeat(classes, lengths)
        tokens = evaluate.labelled_tokens(classes, test.message_offsets, labels)
        found, gold, message = tokens.found, tokens.gold, tokens.message
    else:
        pairs = evaluate.message_labels(labels)
        found, gold, message = classes[pairs.message], pairs.label, pairs.message
    return evaluate.grouped_contingency(found, gold, conversation[message], test.n_conversations)
