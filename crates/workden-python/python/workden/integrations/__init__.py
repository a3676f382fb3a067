"""Backends of this package for other agent frameworks."""
