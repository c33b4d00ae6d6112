"""Keys to the API."""
