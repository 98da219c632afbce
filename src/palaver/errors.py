"""Every error that Palaver raises on purpose.

The tree::

    PalaverError
    ├── InputError (ValueError)          what was given cannot be used
    │   ├── FormatError                  a file is broken or in no known format
    │   ├── CorpusError                  the messages break a rule (``on_bad="error"``)
    │   │   └── ColumnError              a file has no such column
    │   └── ParameterError               a parameter is outside its declared limits
    ├── StoreError (OSError)             a folder on disk cannot be used
    │   ├── DamagedStoreError            files are missing, cut short or altered
    │   ├── NewerStoreError              written by a newer Palaver
    │   ├── OlderStoreError              written by an older Palaver
    │   └── LockedStoreError             another process is writing to it
    ├── NotFittedError (AttributeError)  a model was asked before ``fit``
    ├── StoppedError (RuntimeError)      a fit ended before it had learned anything
    ├── WorkersError (RuntimeError)      a cluster cannot be reached or keeps losing workers
    └── MissingExtraError (ImportError)  an optional dependency is not installed

    PalaverWarning (UserWarning)         work goes on, but someone should look

A message says what is wrong, where (file, line, field), and what to do.
"""

from __future__ import annotations


class PalaverError(Exception):
    """Base of all errors that Palaver raises on purpose."""


class InputError(PalaverError, ValueError):
    """What was given cannot be used."""


class FormatError(InputError):
    """A file is broken or in no known format."""


class CorpusError(InputError):
    """The messages of a corpus break a rule that was asked to be kept."""


class ColumnError(CorpusError):
    """A file has no column of the name that was given.

    Attributes
    ----------
    columns : list of str
        Those that it has.
    """

    def __init__(self, message: str, columns: list[str]) -> None:
        super().__init__(message)
        self.columns = columns


class ParameterError(InputError):
    """A parameter is outside its declared limits."""


class StoreError(PalaverError, OSError):
    """A folder on disk cannot be used."""


class DamagedStoreError(StoreError):
    """Files of a stored folder are missing, cut short or altered."""


class NewerStoreError(StoreError):
    """A stored folder was written by a newer version of Palaver."""


class OlderStoreError(StoreError):
    """A stored folder was written by a version of Palaver that is too old to be read."""


class LockedStoreError(StoreError):
    """Another process is writing to a stored folder."""


class NotFittedError(PalaverError, AttributeError):
    """A model was asked for what only ``fit`` can give."""


class StoppedError(PalaverError, RuntimeError):
    """A fit was ended, by its time or by a callback, before it had learned anything."""


class MissingExtraError(PalaverError, ImportError):
    """An optional dependency is not installed."""


class WorkersError(PalaverError, RuntimeError):
    """A cluster cannot be reached, or keeps losing workers."""


class PalaverWarning(UserWarning):
    """Work goes on, but not quite as it should: someone should look."""
