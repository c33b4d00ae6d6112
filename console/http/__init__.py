"""What a page is before it is HTML: the request, the response, the routes, static files."""
