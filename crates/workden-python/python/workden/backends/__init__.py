"""Backends: in memory, on the host, routed by prefix, and in sandboxes."""
