"""``python -m palaver.cli``."""

from palaver.cli import main

main()
