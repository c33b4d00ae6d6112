"""Customers at the help center: sign-in, their tickets, and attackers."""
