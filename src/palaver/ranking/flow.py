"""Expected visits on a sparse graph, kept up to date as items become absorbing.

The jump of the walk has rank one, so it is treated separately: with ``M = weight * steps``, D the
share of walks that passes each item and ``H = (I - D M)^-1``, all that is needed are

    y = H' (1 at the unranked items)      visits before the first jump, from uniform starts
    z = H' prior                          the same, from a jump

Both are solved by pushing residuals (:mod:`palaver.ranking.kernels.walks`), starting from the
solution before the last item was ranked. This yields error bounds: H is non-negative, so residuals
between -q and p imply ``y / (1 + q) <= true y <= y / (1 - p)``, and with the same p and q, z is
off by between ``-q y`` and ``p y``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, bicgstab, gmres, splu

from palaver.ranking.kernels.walks import push_two_visits, push_visits, residual_extent

_SWEEPS = 6  # pushing passes after which the rest is global, and a Krylov solver is faster
_ROUNDS = 30
LEAST = 1e-3  #: keeps bounds finite while residuals are still large
_EXACT_BELOW = 1e-7  # below these limits residuals are recomputed instead of updated; or, if
_DRIFT = 1e4 * float(np.finfo(float).eps)  # visits are many, below this share of the maximum


@dataclass(frozen=True)
class Extent:
    """How far the residuals of a right-hand side extend, up and down.

    Attributes
    ----------
    up, down : float
        Over all items: the maximum over the open ones plus the sum over the others.
    up_closed, down_closed : float
        The sum over the closed ones alone, times the most visits that any pays itself.
    """

    up: float
    down: float
    up_closed: float
    down_closed: float


class Flow:
    """Visits y, and z unless it is a multiple of y, with their residuals.

    Parameters
    ----------
    moves : csr matrix, shape (n_items, n_items)
        M; its rows sum to at most one.
    starts : array of float64, shape (n_items, 1 or 2)
        Right-hand sides of y and z.
    escape : float
        Share of walks that passes ranked items.

    Attributes
    ----------
    visits : array of float64, shape (n_items, 1 or 2)
    is_open : array of bool, shape (n_items,)
        Items where a walk of y starts; y bounds its own residuals there.
    """

    def __init__(self, moves: Any, starts: NDArray[np.float64], escape: float) -> None:
        self._moves = moves
        self._offsets = moves.indptr.astype(np.int64)
        self._targets = moves.indices.astype(np.int32)
        self._self_moves = moves.diagonal()
        self._escape = escape
        self._passes = np.ones(len(starts))
        self._starts = starts.copy()
        self._forward = True
        self.visits = np.zeros_like(starts)
        self._residuals = starts.copy()
        self.is_open = starts[:, 0] > 0
        self._extents: list[Extent] | None = None
        self._is_slow = False
        self._factors: Any = None

    @property
    def n_columns(self) -> int:
        """1, or 2 if z is solved for separately."""
        return int(self.visits.shape[1])

    def absorb(self, item: int) -> None:
        """Turn an item into an absorbing state; the consequences become residuals."""
        self._extents = self._factors = None
        row = slice(self._offsets[item], self._offsets[item + 1])
        lost = (self._passes[item] - self._escape) * self.visits[item]
        self._passes[item] = self._escape
        targets = self._targets[row]
        self._residuals[targets] -= self._moves.data[row, None] * lost
        self._residuals[item, 0] -= self._starts[item, 0]
        self._starts[item, 0] = 0.0
        self.is_open[item] = False

    def settle(self, limit: float, jump_limit: float = 0.0) -> bool:
        """Reduce residuals below a limit; return False if rounding prevents it.

        Parameters
        ----------
        limit, jump_limit : float
            Largest residual of open items in y and in z. Those of the others sum to less.
        """
        self._extents = None
        limits = np.array([limit, jump_limit])[: self.n_columns]
        for _ in range(_ROUNDS):
            is_fine = limit < max(_EXACT_BELOW, _DRIFT * np.abs(self.visits[:, 0]).max())
            if self._push(limits):
                if not is_fine:
                    return True
                self._refresh()
                if self._is_within(2 * limits):
                    return True
            before = np.linalg.norm(self._residuals)
            self._solve(limits)
            if np.linalg.norm(self._residuals) > 0.5 * before and is_fine:
                return False  # rounding prevents further progress
        return False

    def _is_within(self, limits: NDArray[np.float64]) -> bool:
        return bool((np.abs(self._residuals).max(axis=0) <= limits).all())

    def _push(self, limits: NDArray[np.float64]) -> bool:
        """Pass over the items until none is pushed; return False if that takes too long."""
        closed = limits / (2.0 + np.count_nonzero(~self.is_open))
        graph = (self._offsets, self._targets, self._moves.data, self._self_moves, self._passes,
                 self.is_open)  # fmt: skip
        for _ in range(_SWEEPS):
            self._forward = not self._forward
            if self.n_columns == 1:
                n_pushed = push_visits(
                    *graph, limits[0], closed[0], self._forward,
                    self.visits[:, 0], self._residuals[:, 0],
                )  # fmt: skip
            else:
                n_pushed = push_two_visits(
                    *graph, limits, closed, self._forward, self.visits, self._residuals
                )
            if not n_pushed:
                return True
        return False

    def _refresh(self) -> None:
        """Recompute residuals, without the rounding errors that pushes accumulate."""
        passed = self._passes[:, None] * self.visits
        self._residuals = np.ascontiguousarray(self._starts + self._moves.T @ passed - self.visits)

    def _solve(self, limits: NDArray[np.float64]) -> None:
        """Take a large step, to settle residuals all over the graph."""
        for column, limit in enumerate(limits):
            residual = self._residuals[:, column].copy()
            step = None if self._is_slow else self._krylov_step(residual, limit)
            if step is None:  # the walk mixes slowly, as along a chain, so factors are sparse
                self._is_slow = True
                step = self._direct_step(residual)
            self.visits[:, column] += step
        self._refresh()

    def _krylov_step(
        self, residual: NDArray[np.float64], limit: float
    ) -> NDArray[np.float64] | None:
        """Return the change of the visits, or None if the solver does not converge."""
        n_items = len(residual)
        backwards = self._moves.T
        operator = LinearOperator(
            (n_items, n_items),
            matvec=lambda x: x.ravel() - backwards @ (self._passes * x.ravel()),
            dtype=np.float64,
        )
        size = float(np.linalg.norm(residual))
        goal = {"rtol": 0.0, "atol": min(0.2 * limit * np.sqrt(n_items), 0.1 * size)}
        step, failed = bicgstab(operator, residual, maxiter=100, **goal)
        if failed or not np.isfinite(step).all():
            step, failed = gmres(operator, residual, restart=60, maxiter=3, **goal)
        return None if failed or not np.isfinite(step).all() else step

    def _direct_step(self, residual: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the same from a sparse factorization, which is kept until the next item."""
        if self._factors is None:
            passing = sparse.diags(self._passes) @ self._moves
            self._factors = splu(sparse.csc_matrix((sparse.eye(len(residual)) - passing).T))
        return np.asarray(self._factors.solve(residual))

    def extents(self) -> list[Extent]:
        """Return the extent of each column's residuals."""
        if self._extents is not None:
            return self._extents
        slack = 1.0 / (1.0 - self._escape)
        extents = []
        for column in range(self.n_columns):
            (up, up_closed), (down, down_closed) = residual_extent(
                self._residuals[:, column], self.is_open
            )
            extents.append(
                Extent(up + up_closed, down + down_closed, slack * up_closed, slack * down_closed)
            )
        self._extents = extents
        return extents

    def limits(self, item: int) -> NDArray[np.float64]:
        """Return lower and upper bounds on the true visits to an item, (n_columns, 2)."""
        extents = self.extents()
        closed = 0.0 if self.is_open[item] else 1.0
        y, extent = self.visits[item, 0], extents[0]
        y_high = y / max(1.0 - extent.up, LEAST) + closed * extent.up_closed
        limits = [[y / (1.0 + extent.down) - closed * extent.down_closed, y_high]]
        for column, extent in enumerate(extents[1:], 1):
            z = self.visits[item, column]
            low = z - extent.down * y_high - closed * extent.down_closed
            limits.append([low, z + extent.up * y_high + closed * extent.up_closed])
        return np.maximum(np.array(limits), 0.0)
