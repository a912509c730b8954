"""Reads the C header into a model (header, model) and writes it out per language.

Owns no knowledge of what the functions mean: whatever the emitters need to
know is in the header. Never runs a compiler and never looks at the library.
"""
