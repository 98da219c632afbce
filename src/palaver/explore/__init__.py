"""The workbench: a local web application to search, read, compare and curate a run."""
