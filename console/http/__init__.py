"""HTTP of the console: requests, responses, routes, static files."""
