"""What the records of the knowledge base are made of."""
