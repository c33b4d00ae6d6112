"""What visitors of the help center read and write: published articles, searches, votes and files."""
