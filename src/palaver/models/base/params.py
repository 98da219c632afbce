"""Parameters that are stored, read, set and checked by name, as scikit-learn does."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from palaver.errors import ParameterError
from palaver.params import Limit, check


class HasParams:
    """Anything whose constructor only stores its parameters.

    Not scikit-learn's ``BaseEstimator``: importing that takes a second, and the limits of the
    parameters are declared here, where the command line and the documentation read them.

    Attributes
    ----------
    limits : mapping of str to Limit
        What each parameter except ``random_state`` may be.
    """

    limits: ClassVar[Mapping[str, Limit]]

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as scikit-learn does."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, as scikit-learn does."""
        known = self._parameter_names()
        for name, value in params.items():
            if name not in known:
                raise ParameterError(
                    f"{type(self).__name__}: there is no parameter {name!r}; "
                    f"the parameters are {', '.join(sorted(known))}"
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value != defaults[name].default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def check_params(self) -> None:
        """Compare the parameters with their declared limits."""
        params = self.get_params()
        params.pop("random_state")
        check(type(self).__name__, self.limits, params)
