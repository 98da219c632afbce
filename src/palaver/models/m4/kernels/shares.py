"""What M4 expects of a message given its parents' classes, and how likely its words then are.

The class distribution is that of Paul (2012), section 2.2, step 3(a), with histograms that sum to
one (section 5.4); the score of the words is that of section 5.5.1, given sampled classes of the
parents.
"""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.compiled import kernel


@kernel(error_model="numpy")
def message_shares(threads, unit_classes, weights, shares):  # type: ignore[no-untyped-def]
    """Set row ``b`` of ``shares`` (n_messages, K) OUT to the class distribution of message ``b``.

    That is ``softmax(s)``, also the mean of Dirichlet(exp(s)). threads : Threads, unit_classes :
    (n_units,), weights : (K + F, K) IN. O(K) for each unit of each parent.
    """
    unit_offsets, parent_list = threads.unit_offsets, threads.parent_list
    n_classes = weights.shape[1]
    bases = threads.designs @ weights[n_classes:]
    histogram = np.empty(n_classes)
    for b in range(shares.shape[0]):
        scores = shares[b]
        scores[:] = bases[threads.base_index[b]]
        first, last = threads.parent_offsets[b], threads.parent_offsets[b + 1]
        for p in range(first, last):
            histogram[:] = 0.0
            n_units = 0
            for u in range(unit_offsets[parent_list[p]], unit_offsets[parent_list[p] + 1]):
                if unit_classes[u] < n_classes:
                    histogram[unit_classes[u]] += 1.0
                    n_units += 1
            for k in range(n_classes):
                if histogram[k] > 0.0:
                    for j in range(n_classes):
                        scores[j] += histogram[k] * weights[k, j] / (n_units * (last - first))
        scores -= scores.max()
        total = 0.0
        for j in range(n_classes):
            scores[j] = math.exp(scores[j])
            total += scores[j]
        for j in range(n_classes):
            scores[j] /= total


@kernel(error_model="numpy")
def add_outcome_scores(tokens, message_offsets, shares, word_weights, scores):  # type: ignore[no-untyped-def]
    """Add the log probability of each message's words, drawn from all columns by their shares.

    shares : (n_messages, n_columns) IN; word_weights : (W, n_columns) IN; scores : IN-OUT.
    """
    for b in range(shares.shape[0]):
        for n in range(message_offsets[b], message_offsets[b + 1]):
            row = word_weights[tokens[n]]
            mixed = 0.0
            for column in range(shares.shape[1]):
                mixed += shares[b, column] * row[column]
            scores[b] += math.log(mixed)
