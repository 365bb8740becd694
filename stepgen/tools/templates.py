"""Files rendered from ``templates/``."""

from __future__ import annotations

import jinja2

from stepgen.tools.shipped import shipped


def fill(template: str, **values: object) -> str:
    """A file of ``templates/`` with some values."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(shipped("templates")),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,
    )
    return environment.get_template(template).render(**values)
