"""HTML and Markdown."""

from tests.template.run_cases import Case

CASES: list[Case] = [
    ('{{ "<p>a <b>b</b></p><p>c</p>"|html_to_text }}', "a b\nc\n"),
    ('{{ "a  <i>b</i>   c"|striptags }}', "a  b   c"),
    ("{{ nope|striptags }}|", "|"),
]
