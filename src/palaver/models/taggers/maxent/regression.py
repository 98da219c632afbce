"""One multinomial logistic regression: fitted by scikit-learn, kept as two arrays."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, log_softmax, softmax

#: L-BFGS stops when no entry of the gradient is larger.
_TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class Regression:
    """A fitted regression.

    Attributes
    ----------
    classes : array of int64, shape (n_classes,)
        What was predicted, in order.
    weights : array of float64, shape (n_rows, n_inputs)
        One row per class; with two classes, one row for the second; with one class, none.
    intercepts : array of float64, shape (n_rows,)
    """

    classes: NDArray[np.int64]
    weights: NDArray[np.float64]
    intercepts: NDArray[np.float64]

    def probabilities(self, table: sparse.csr_array) -> NDArray[np.float64]:
        """Return the probability of each class in each row of a table, (n, n_classes)."""
        if len(self.classes) == 1:
            return np.ones((table.shape[0], 1))
        scores = np.asarray(table @ self.weights.T + self.intercepts)
        if len(self.classes) == 2:
            second = expit(scores.ravel())
            return np.column_stack((1 - second, second))
        return np.asarray(softmax(scores, axis=1))

    def log_joint(self, table: sparse.csr_array, codes: NDArray[np.int64], penalty: float) -> float:
        """Return what was maximized: the log-likelihood of the classes minus the penalty.

        Parameters
        ----------
        table : sparse array, shape (n, n_inputs)
        codes : array of int64, shape (n,)
            Class of each row.
        penalty : float
        """
        if len(self.classes) == 1:
            return 0.0
        scores = np.asarray(table @ self.weights.T + self.intercepts)
        if len(self.classes) == 2:
            scores = np.hstack((np.zeros_like(scores), scores))
        logs = log_softmax(scores, axis=1)
        chosen = logs[np.arange(len(codes)), np.searchsorted(self.classes, codes)]
        return float(chosen.sum() - penalty / 2 * np.square(self.weights).sum())


def fit_regression(
    table: sparse.csr_array, codes: NDArray[np.int64], penalty: float, max_iter: int
) -> tuple[Regression, int]:
    """Fit a regression by L-BFGS; return it with the number of iterations.

    Parameters
    ----------
    table : sparse array, shape (n, n_inputs)
    codes : array of int64, shape (n,)
        Class of each row.
    penalty : float
        Weight of half the sum of all squared weights; intercepts are free.
    max_iter : int
    """
    from sklearn.linear_model import LogisticRegression

    classes = np.unique(codes)
    if len(classes) == 1:
        return Regression(classes, np.zeros((0, table.shape[1])), np.zeros(0)), 0
    model = LogisticRegression(C=1 / penalty, max_iter=max_iter, tol=_TOLERANCE)
    model.fit(table, codes)
    return Regression(classes, model.coef_, model.intercept_), int(np.max(model.n_iter_))


@contextmanager
def max_iter_is_enough() -> Iterator[None]:
    """Keep scikit-learn from warning that ``max_iter`` was reached, which was asked for.

    Not per regression: filters of warnings belong to all threads.
    """
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
