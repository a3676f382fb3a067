"""Implementation of `workden.workspace`."""
