"""Eight numbers at a time; README.md says what a maintainer must know."""
