"""``python -m stepgen`` is the command ``stepgen``."""

from stepgen.cli import main

main()
