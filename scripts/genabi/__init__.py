"""Reads the C header into a model (header, model) and writes it for each language.

The package does not know what the functions mean: everything that the emitters need is in the
header. It never runs a compiler and never loads the library.
"""
