"""Tests of the schema of model definitions."""
