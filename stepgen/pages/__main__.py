"""Writes everything in the documentation that is made from the code."""

from stepgen.pages.blocks import generated

if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")
