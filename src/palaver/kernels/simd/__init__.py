"""Vector code for eight numbers at a time; see README.md before changing it."""
