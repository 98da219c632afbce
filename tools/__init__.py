"""Scripts that write parts of the documentation; CONTRIBUTING.md says when to run which."""
