"""Computes calendars: the days of recurring events, the occurrences between two instants, and availability. Without
access to the database except for calendar_rows.py; record_types/calendar*.py has the declarations.

    day_patterns.py   the days that a line of words names
    times_of_day.py   times of day of a recurring event
    occurrences.py    events between two instants
    availability.py   available time without busy time
    month.py          a month as weeks of days
    agenda.py         occurrences by day, for responses
    calendar_rows.py  reads the events of calendars"""
