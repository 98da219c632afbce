"""Shared by the tests: random forests of messages and the Geweke harness."""
