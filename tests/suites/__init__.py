"""Tests of the scripts that run the suites and add up their results."""
