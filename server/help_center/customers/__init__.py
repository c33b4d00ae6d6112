"""Customers at the help center: they sign in by email, and see and answer their own tickets.

customers.py             who a customer is, and whose tickets they see
customer_sessions.py     sessions, apart from those of the console
customer_sign_in.py      the mailed link and its code
customer_requests.py          the list of tickets, and the search in it
public_conversation.py   the messages of a ticket that customers see, with their files
request_acts.py          replies, closing, reopening, colleagues
customer_data.py         the data of a customer as a file, and the request to erase it"""
