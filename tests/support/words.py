"""The words of one text; encoding splits columns of them."""

import polars as pl

from palaver.encoding.tokenizer import split_words, word_type


def tokenize(text: str) -> list[str]:
    """Split one text into words, as the default tokenizer does."""
    return [word_type(word) for word in split_words(pl.Series([text], dtype=pl.String))[0]]
