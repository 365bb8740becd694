"""The static facts of each unit kind: parameters, pipeline delay, memory; see `compile.facts`."""
