"""Around the work: shipped files, cache, atomic writes, child processes, progress, tools."""
