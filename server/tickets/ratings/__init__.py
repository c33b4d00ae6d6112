"""Ratings: asks customers once a ticket is closed, and stores what they reply.

rating_requests.py   the job that asks, and the email
rating_links.py      signed links of the email
customer_ratings.py  the score and the comment of a customer"""
