"""When everything happens: every beat of a design, and every tile of a program on a machine."""

from . import compiled

compiled.keep_apart()
compiled.tell_watchers()
