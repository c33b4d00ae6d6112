"""Keys to the API, and what people sign in by."""
