"""The typed graph of a streaming tensor program: shapes, data types, operators, metrics, text."""
