"""All errors that Palaver raises deliberately.

The tree::

    PalaverError
    ├── InputError (ValueError)          the input cannot be used
    │   ├── FormatError                  a file is broken or in an unknown format
    │   ├── CorpusError                  messages need repairs (``on_bad="error"``)
    │   │   └── ColumnError              a file lacks a column
    │   └── ParameterError               a parameter is outside its declared limits
    ├── StoreError (OSError)             a folder on disk cannot be used
    │   ├── DamagedStoreError            files are missing, truncated or altered
    │   ├── NewerStoreError              written by a newer Palaver
    │   ├── OlderStoreError              written by an older Palaver
    │   ├── LockedStoreError             another process is writing to it
    │   └── StaleCurationError           a curation was changed by others, or is of another fit
    ├── NotFittedError (AttributeError)  a model was used before ``fit``
    ├── StoppedError (RuntimeError)      a fit ended before it learned anything
    ├── WorkersError (RuntimeError)      a cluster cannot be reached or keeps losing workers
    ├── EndpointError (RuntimeError)     a language model gives no usable answer
    └── MissingExtraError (ImportError)  an optional dependency is not installed

    PalaverWarning (UserWarning)         work continues, but needs attention

A message says what is wrong, where (file, line, field), and what to do.
"""

from __future__ import annotations


class PalaverError(Exception):
    """Base class of all errors that Palaver raises deliberately."""


class InputError(PalaverError, ValueError):
    """The input cannot be used."""


class FormatError(InputError):
    """A file is broken or in an unknown format."""


class CorpusError(InputError):
    """Messages of a corpus need repairs, and repairs were ruled out."""


class ColumnError(CorpusError):
    """A file has no column with the given name.

    Attributes
    ----------
    columns : list of str
        The columns that it does have.
    """

    def __init__(self, message: str, columns: list[str]) -> None:
        super().__init__(message)
        self.columns = columns


class ParameterError(InputError):
    """A parameter is outside its declared limits."""


class StoreError(PalaverError, OSError):
    """A folder on disk cannot be used."""


class DamagedStoreError(StoreError):
    """Files of a stored folder are missing, truncated or altered."""


class NewerStoreError(StoreError):
    """A stored folder was written by a newer version of Palaver."""


class OlderStoreError(StoreError):
    """A stored folder was written by a version of Palaver that is too old to be read."""


class LockedStoreError(StoreError):
    """Another process is writing to a stored folder."""


class StaleCurationError(StoreError):
    """What was decided about a run was changed by somebody else, or is about another fit."""


class NotFittedError(PalaverError, AttributeError):
    """A model was asked for something that only ``fit`` provides."""


class StoppedError(PalaverError, RuntimeError):
    """A time limit or a callback ended a fit before it had learned anything."""


class MissingExtraError(PalaverError, ImportError):
    """An optional dependency is not installed."""


class WorkersError(PalaverError, RuntimeError):
    """A cluster cannot be reached, or keeps losing workers."""


class EndpointError(PalaverError, RuntimeError):
    """A language model that was asked gives no usable answer."""


class PalaverWarning(UserWarning):
    """Work continues, but something needs attention."""
