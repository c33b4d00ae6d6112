"""Categories and content of the knowledge base."""
