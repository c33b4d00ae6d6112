"""What the events of calendars mean: on which days recurring ones fall, what there is between two instants, and when a
calendar says available. Pure but for events.py, which reads the rows; the declarations are record_types/calendar*.py.

    patterns.py      a line of words and the days it names      clock.py         times of day of a recurring event
    occurrences.py   events between two instants                availability.py  what remains free of them
    month.py         a month as weeks of days                   agenda.py         occurrences as answers show them
    events.py        the events of calendars, from the database"""
