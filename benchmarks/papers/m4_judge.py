"""What is measured of the fitted thread models: perplexity, replies rebuilt, classes against acts.

Every result is stored by conversation, so that the page can resample conversations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import palaver as pv
from palaver.corpus.table import Corpus
from palaver.encoding import encode
from palaver.evaluate.bootstrap import Statistic, bootstrap, of_tables, paired_bootstrap
from palaver.evaluate.clustering import v_measure, variation_of_information
from palaver.evaluate.labels import grouped_contingency, labelled_tokens, random_classes
from palaver.evaluate.threads import right_parents
from palaver.models.views.reconstruct import best_parents, order_of, reconstructions

N_PARTICLES = 1000
#: Instead of temperature 1, cooled by 0.99 a sweep.
HOT_START = {"temperature": 20.0, "cooling": 0.985}
Model = Any


def perplexities(model: Model, test: Corpus, n_sweeps: int) -> dict[str, Any]:
    """Return log likelihoods and numbers of words of each test conversation."""
    encoded = encode(test, model.vocabulary_)
    words = np.diff(encoded.message_offsets[encoded.conversation_offsets])
    result = {"words": words.tolist(), "vocabulary": len(model.vocabulary_)}
    for method in model.heldout_methods:
        logs = model.log_likelihoods(encoded, method, n_sweeps=n_sweeps, n_particles=N_PARTICLES)
        result[method] = np.round(logs, 4).tolist()
    return result


def unigram(train: Corpus, test: Corpus) -> dict[str, Any]:
    """Return the same for one distribution of words: LDA with one topic."""
    model = pv.LDA(n_classes=1, n_sweeps=20, random_state=0).fit(train, show_progress=False)
    return perplexities(model, test, 1)


def rebuilt(model: Model, test: Corpus, n_sweeps: int, n_restarts: int) -> dict[str, Any]:
    """Return how many parents are right in each conversation, for each restart and the best."""
    offsets = test.conversation_offsets
    result: dict[str, Any] = {}
    for name, order, n_runs, start in (
        ("any", None, n_restarts, {}),
        ("hot", None, 1, HOT_START),
        ("ordered", "corpus", 1, HOT_START),
    ):
        parents, scores = reconstructions(
            model, test, order_of(test, order), n_sweeps=n_sweeps, n_restarts=n_runs, **start
        )
        right = [right_parents(found, test.parents, offsets)[:, 0] for found in parents]
        best = right_parents(best_parents(parents, scores, offsets), test.parents, offsets)
        result[name] = {
            "mean": np.mean(right, axis=0).tolist(),
            "best": best[:, 0].tolist(),
            "each": [float(run.sum() / best[:, 1].sum()) for run in right],
        }
    return result


def sentence_lengths(corpus: Corpus, vocabulary: Any) -> np.ndarray:
    """Return how many known words each sentence has, all sentences in a row."""
    sentences = corpus.table.select("id", "sentences").explode("sentences")
    table = sentences.select(
        conversation="id", id=pl.int_range(pl.len()).cast(pl.String), text="sentences"
    )
    return np.diff(encode(Corpus.from_polars(table), vocabulary).message_offsets)


def gold_tokens(corpus: Corpus, vocabulary: Any) -> tuple[np.ndarray, Any]:
    """Return offsets of what bears one label (sentences or messages), and the labels."""
    if "sentence_acts" in corpus.table.columns:
        lengths = sentence_lengths(corpus, vocabulary)
        return np.concatenate(([0], np.cumsum(lengths))), corpus.table["sentence_acts"].explode()
    return encode(corpus, vocabulary).message_offsets, corpus.table["act"]


def clusters(model: Model, corpus: Corpus, folder: Path) -> dict[str, Any]:
    """Count token classes, and message classes, against acts in each conversation."""
    encoded = encode(corpus, model.vocabulary_)
    tokens = model.token_classes(encoded)["class"].fill_null(-1).to_numpy()
    offsets, labels = gold_tokens(corpus, model.vocabulary_)
    assert offsets[-1] == len(tokens)
    conversation = np.repeat(
        np.arange(corpus.n_conversations),
        np.diff(encoded.message_offsets[encoded.conversation_offsets]),
    )
    chance = random_classes(len(tokens), model.n_classes)
    for name, found in (("tokens", tokens), ("random", np.where(tokens < 0, -1, chance))):
        rows = labelled_tokens(found, offsets, labels)
        of_token = labelled_tokens(conversation, offsets, labels).found
        _keep(folder / f"{name}.npz", rows.found, rows.gold, of_token, corpus.n_conversations)
    result = {"background": float((tokens < 0).mean()), "n_tokens": len(tokens)}
    if "topic" in corpus.table.columns:
        about = labelled_tokens(tokens, encoded.message_offsets, corpus.table["topic"])
        kept = about.found >= 0
        result["topic"] = float(v_measure(about.found[kept], about.gold[kept]))
    if "act" in corpus.table.columns and "sentence_acts" not in corpus.table.columns:
        of_message = np.repeat(
            np.arange(corpus.n_conversations), np.diff(corpus.conversation_offsets)
        )
        gold = corpus.table["act"].cast(pl.Categorical).to_physical().cast(pl.Int64)
        acts = gold.fill_null(-1).to_numpy()
        classes = model.transform(encoded).argmax(axis=1)
        _keep(folder / "messages.npz", classes, acts, of_message, corpus.n_conversations)
    return result


def _keep(
    path: Path, found: np.ndarray, gold: np.ndarray, groups: np.ndarray, n_groups: int
) -> None:
    """Write the counts of each conversation."""
    counts, shape = grouped_contingency(found, gold, groups, n_groups)
    np.savez_compressed(path, counts=counts.toarray().astype(np.int32), shape=np.array(shape))


def _measured(path: Path, measure: Callable[..., Any]) -> tuple[np.ndarray, Statistic]:
    """Return the counts that :func:`clusters` kept, and a measure of their sums."""
    with np.load(path) as stored:
        n_found, n_gold = stored["shape"].tolist()
        return stored["counts"].astype(float), of_tables(measure, (n_found, n_gold))


def against_acts(folders: Mapping[str, Path]) -> dict[str, Any]:
    """Return VI and V-measure of all models with intervals, and M4's VI against the block HMM's.

    ``folders`` are those of :func:`clusters`, by the model's name.
    """
    vi = {m: _measured(f / "tokens.npz", variation_of_information) for m, f in folders.items()}
    (own, statistic), (block, of_block) = vi["m4"], vi["block-hmm"]
    random = _measured(folders["m4"] / "random.npz", variation_of_information)
    result: dict[str, Any] = {
        "random": bootstrap(*random),
        "vi": {name: bootstrap(*run) for name, run in vi.items()},
        "difference": paired_bootstrap(own, block, statistic, of_block),
    }
    messages = {name: folder / "messages.npz" for name, folder in folders.items()}
    if all(path.exists() for path in messages.values()):
        runs = {name: _measured(path, v_measure) for name, path in messages.items()}
        result["v_measure"] = {name: bootstrap(*run) for name, run in runs.items()}
    return result


def labelled(name: str) -> bool:
    """Whether the messages of a corpus have acts."""
    return name.split(",")[0] in ("sample", "rumoureval2017", "swda")
