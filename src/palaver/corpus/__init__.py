"""READ: conversations from many formats become one tidy table."""

from palaver.corpus.notes import Notes
from palaver.corpus.table import Corpus, read

__all__ = ["Corpus", "Notes", "read"]
