"""What the commands do, as functions of Python; `stepgen.cli` reads their options and prints."""
