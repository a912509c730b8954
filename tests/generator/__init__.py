"""Tests of the generator that reads the public header."""
