"""What `workden.workspace` is made of."""
