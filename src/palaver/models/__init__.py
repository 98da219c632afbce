"""One folder per model, all of one shape; see ``docs/adding_a_model.md``."""

from palaver.models.base.model import Model
from palaver.models.registry import MODELS, load, model_class
from palaver.models.summary import ModelSummary

__all__ = ["MODELS", "Model", "ModelSummary", "load", "model_class"]
