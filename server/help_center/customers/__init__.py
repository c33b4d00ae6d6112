"""Customers of the help center: they sign in by email, read their own tickets, and reply to them.

customers.py             the signed-in customer, and the addresses whose tickets they can read
customer_sessions.py     sessions, separate from sessions of the console
customer_sign_in.py      the mailed link and its code
customer_requests.py     the list of tickets, and the search in it
public_conversation.py   the messages of a ticket that customers see, with their files
request_acts.py          replies, closing, reopening, colleagues
customer_data.py         the data of a customer as a file, and the request to erase it"""
