"""Tools of all packages: shipped files, cache, atomic writes, child processes, progress, tools."""
