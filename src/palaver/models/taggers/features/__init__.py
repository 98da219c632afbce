"""What linear taggers see of a message and of what is around it, as one sparse table."""

from palaver.models.taggers.features.settings import BLOCKS, FeatureSettings
from palaver.models.taggers.features.table import FeatureMap, learn_features

__all__ = ["BLOCKS", "FeatureMap", "FeatureSettings", "learn_features"]
