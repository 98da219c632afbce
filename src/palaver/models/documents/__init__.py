"""Variational models of documents, in passes or from a stream."""
