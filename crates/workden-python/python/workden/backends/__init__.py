"""Where files are: in memory, on the host, routed to several places, in sandboxes."""
