"""Places for the nodes of any graph: linked nodes attract each other, all others repel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver import rng

_ROUNDS = 150


def spring_layout(edges: Any) -> NDArray[np.float64]:
    """Return places in the plane, (n_nodes, 2), the same for the same graph.

    Fruchterman & Reingold (1991): forces of distance²/k along edges and k²/distance between all
    pairs, with steps that become smaller. Takes time quadratic in the number of nodes.

    Parameters
    ----------
    edges : csr matrix, shape (n_nodes, n_nodes)
        Directions are ignored; stronger edges attract more.
    """
    n = edges.shape[0]
    places = rng.generator(0, "springs").normal(size=(n, 2))
    pull = np.asarray((edges + edges.T).todense(), np.float64)
    np.fill_diagonal(pull, 0.0)
    pull = np.sqrt(pull / max(pull.max(), np.finfo(float).tiny))
    ideal = 1.0 / np.sqrt(max(n, 1))
    for heat in np.linspace(0.1, 0.005, _ROUNDS):
        apart = places[:, None] - places
        distances = np.maximum(np.sqrt((apart**2).sum(axis=2)), 1e-3)
        force = ideal**2 / distances**2 - pull * distances / ideal
        moves = (apart * force[:, :, None]).sum(axis=1) - 0.5 * (places - places.mean(axis=0))
        lengths = np.maximum(np.sqrt((moves**2).sum(axis=1)), 1e-9)
        places = places + moves / lengths[:, None] * np.minimum(lengths, heat)[:, None]
    return np.asarray(places)
