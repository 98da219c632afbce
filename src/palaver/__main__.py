"""``python -m palaver``."""

from palaver.cli import main

main()
