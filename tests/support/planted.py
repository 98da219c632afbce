"""Models with parameters planted by hand, and how well a fit finds them again."""

from functools import partial

import numpy as np
from scipy.optimize import linear_sum_assignment

from palaver.encoding import Vocabulary
from palaver.models import model_class
from palaver.models.m4.conditions import Columns

N_CLASSES, N_WORDS = 4, 60


def plant(name: str, generator: np.random.Generator, background: float = 0.3):
    """Return a 'fitted' model with distinct classes, strong transitions and a background.

    M4 is that of the paper; "m4 dirichlet" is the default one.
    """
    words = generator.dirichlet(np.full(N_WORDS, 0.1), N_CLASSES + 1).T
    cycle = np.roll(np.eye(N_CLASSES), 1, axis=1)  # class k is mostly followed by k + 1
    start = np.eye(N_CLASSES)[0]
    chain = {
        "class_words": words,
        "class_shares": np.full(N_CLASSES, 1 / N_CLASSES),
        "class_probability": np.array(1 - background),
        "word_prior": np.array(0.1),
    }
    if name.startswith("m4"):
        bias = np.full(N_CLASSES, -0.5 if name == "m4 dirichlet" else 0.0)
        strength = 3 if name == "m4 dirichlet" else 4
        chain["transitions"] = np.vstack((strength * cycle, strength * start, bias))
        chain |= {"alpha": np.empty(0), "topic_shares": np.empty(0),
                  "switch_probabilities": np.array([background, 1 - background, 0.0])}  # fmt: skip
    elif name == "block-hmm":
        rows = np.vstack((0.85 * cycle, 0.85 * start)) + 0.15 / N_CLASSES
        chain |= {"transitions": rows, "transition_prior": np.ones(N_CLASSES)}
    else:
        chain["share_prior"] = np.full(N_CLASSES, 0.3)
    model = planted_class(name)(n_classes=N_CLASSES)
    model.vocabulary_ = Vocabulary([f"w{i}" for i in range(N_WORDS)], np.ones(N_WORDS, np.int64))
    model.chains_, model.best_chain_ = [chain], 0
    model.class_names_, model.columns_ = [], Columns([])  # nothing guides it
    model._set_estimates()
    return model


def planted_class(name: str):
    """Return what makes a model of the planted kind."""
    if name == "m4":
        return partial(model_class("m4"), transition="softmax", background=True)
    if name == "lda":
        return model_class(name)
    return partial(model_class(name.split()[0]), background=True)


def match(planted, found) -> np.ndarray:
    """Return for each planted class the found one that is nearest, one to one."""
    distance = np.abs(planted.class_words_[:, None] - found.class_words_[None]).sum(axis=2)
    return linear_sum_assignment(distance)[1]


def spelled(planted, found) -> np.ndarray:
    """Return the found classes' words in the order of the planted vocabulary, (K, W)."""
    columns = [found.vocabulary_.index.get(word, -1) for word in planted.vocabulary_.words]
    padded = np.pad(found.class_words_, ((0, 0), (0, 1)))
    return padded[:, columns]
