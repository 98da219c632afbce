"""Pages for tests: a small fitted model, and a corpus of injection attempts."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import polars as pl

import palaver as pv
from palaver.encoding.tokenizer import split_words
from palaver.page.marks import Marks, mark

#: Each must show as text and do nothing.
ATTACKS = [
    "<script>window.hacked = 1</script> thanks a lot everybody",
    "</script><script>window.hacked = 2</script> thanks",
    "<!--<script> and </script --> comment tricks",
    '"><img src=x onerror="window.hacked = 3"> thank you',
    "' onmouseover='window.hacked = 4' x='",
    "<svg onload=window.hacked=5><a xlink:href=javascript:window.hacked=6>help</a></svg>",
    "[click](javascript:window.hacked=7) javascript:window.hacked=8 data:text/html,<b>x</b>",
    "{{ 7 * 7 }} {% raw %} ${7 * 7} #{7 * 7} <%= 7 * 7 %> please help",
    "\u202egnp.exe\u202c and \u2066hidden\u2069 and \u061c marks",
    "line\u2028separator \u2029 paragraph \ufeff bom \x07 bell",
    "]]> --> */ </style><style>*{display:none}</style> &lt;b&gt; &amp; &#x3c;",
    "https://example.com/track.png http://127.0.0.1:9/ //example.com/x.js",
    "w" * 1_000_000 + " is a long word",
    "İstanbul ǅ ß 𝒳 👩‍👩‍👧 ＜script＞ thanks for your help",
]


def hostile_corpus() -> pv.Corpus:
    """Return a corpus whose texts, speakers, labels, ids and column names are attacks."""
    texts = ATTACKS * 3
    n = len(texts)
    return pv.Corpus.from_polars(
        pl.DataFrame(
            {
                "conversation": [f"</script><b>c{i // 4}" for i in range(n)],
                "id": [f"'\"><i>{i}" for i in range(n)],
                "reply_to": [f"'\"><i>{i - 1}" if i % 4 else None for i in range(n)],
                "speaker": [ATTACKS[i % 12] for i in range(n)],
                "time": [1_700_000_000 + 4000 * i for i in range(n)],
                "text": texts,
                "<img src=x onerror=window.hacked=9>": [ATTACKS[i % 3] for i in range(n)],
                "__proto__": ["constructor", "toString"] * (n // 2),
            }
        ),
        source="</title><script>window.hacked=10</script>.csv",
    )


def mark_texts(
    texts: Sequence[str],
    ranks: Sequence[int],
    lengths: Sequence[int],
    known: Collection[str],
    limit: int = 1000,
    shown: Sequence[str] | None = None,
) -> Marks:
    """Return the marks of texts that are split as by default."""
    read = pl.Series(texts, dtype=pl.String)
    displayed = read if shown is None else pl.Series(shown, dtype=pl.String)
    return mark(
        read,
        split_words(read),
        np.array(ranks, np.int16),
        np.array(lengths),
        known=set(known),
        limit=limit,
        shown=(displayed, split_words(displayed)),
    )


def small_model(corpus: pv.Corpus, n_classes: int = 4, **params: object) -> pv.M4:
    """Return M4 after a few sweeps, enough for a page."""
    settings = {"n_classes": n_classes, "n_sweeps": 200, "n_chains": 2, "random_state": 1, **params}
    return pv.M4(**{"background": True, **settings}).fit(corpus)
