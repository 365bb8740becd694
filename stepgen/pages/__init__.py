"""Parts of the documentation that are written from the code: ``python -m stepgen.pages``."""
