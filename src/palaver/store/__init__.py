"""Arrays and a JSON manifest on disk: atomic, checked, mappable, never pickled."""

from palaver.store.folder import Stored, is_stored, load, plain, save
from palaver.store.lock import locked

__all__ = ["Stored", "is_stored", "load", "locked", "plain", "save"]
