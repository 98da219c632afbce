"""Asking a language model, if the user wants it: any OpenAI-compatible endpoint, no dependency.

::

    endpoint = Endpoint("http://localhost:11434/v1", "llama3.2", key_from_environment())
    answers = Answers("run/")
    text = answers.get(endpoint, messages) or endpoint.complete(messages)

Nothing is sent but what :meth:`Endpoint.complete` is given.
"""

from palaver.endpoint.answers import Answers
from palaver.endpoint.client import KEY_VARIABLE, Endpoint, key_from_environment

__all__ = ["KEY_VARIABLE", "Answers", "Endpoint", "key_from_environment"]
