"""HTML and Markdown."""

from tests.template.run_cases import Case

CASES: list[Case] = [
    ('{{ "<p>a <b>b</b></p><p>c</p>"|html_to_text }}', "a b\nc\n"),
    ('{{ "a  <i>b</i>   c"|striptags }}', "a  b   c"),
    ("{{ nope|striptags }}|", "|"),
    ('{{ "a  b"|spaceless }}|{{ " <a>  <b> x </b>\\n</a> "|spaceless }}', "a  b|<a><b> x </b></a>"),
    ('{{ "<p>Hi <i>you</i></p><ul><li>a<li>b</ul><script>x</script>"|html_to_text }}', "Hi you\n- a\n- b\n"),
    (
        (
            '{{ "<p>abc</p><p>defghi</p>"|html_to_text(truncate=14) }}'
            '|{{ "<p>abc</p><p>def</p>"|html_to_text(12) }}|{{ 5|html_to_text }}'
        ),
        "abc\nd\n|abc\n|",
    ),
    ('{{ "<p>a<!-- c > d --> b<br/> 1 < 2 <<b>script>x"|striptags }}', "a b 1 < 2 x"),
    (
        '{{ "<p>a <b class=\'>\'>b</b> <I>c</I> &lt;d&gt;</p>"|striptags("<b><i>") }}',
        "a <b class='>'>b</b> <I>c</I> &lt;d&gt;",
    ),
    ('{{ "a <b c"|striptags }}|{{ 5|striptags }}', "a |5"),
    (
        '{{ "**a** <b>x</b><script>1</script>"|markdown_to_html }}',
        "<p><strong>a</strong> &lt;b&gt;x&lt;/b&gt;&lt;script&gt;1&lt;/script&gt;</p>",
    ),
    (
        '{{ "**a** <b onclick=1>x</b><script>1</script>"|markdown_to_html(false) }}',
        "<p><strong>a</strong> <b>x</b></p>",
    ),
    (
        '{{ "[x](javascript:1)"|markdown_to_html(false) }}',
        '<p><a target="_blank" rel="noopener noreferrer nofollow">x</a></p>',
    ),
    (
        '{{ "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"|image_info|join }}',
        "1131image/gif",
    ),
    ('{{ "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAYAAAA="|base64_decode|image_info|join(" ") }}', "2 1 4 8 image/png"),
    ('{{ "/9j/4AAEAAD/wAALCAAHAAUDAQ=="|base64_decode|image_info|join(" ") }}', "5 7 3 8 image/jpeg"),
    ('{{ "UklGRgAAAABXRUJQVlA4IAAAAAAAAAAAAAADAAQA"|base64_decode|image_info|join(" ") }}', "3 4 3 8 image/webp"),
    (
        (
            '{{ "x"|image_info|keys|join }}{{ nope|image_info|keys|join }}'
            '{{ "iVBORw0KGgo="|base64_decode|image_info|keys|join }}'
        ),
        "_error_error_error",
    ),
    (
        '{{ a|parse_user_agent|join(" ") }}',
        "Windows Edge 120.0.1",
        {"a": "Mozilla/5.0 (Windows NT 10.0; Win64) AppleWebKit/537.36 Chrome/120.0.0.0 Safari/537.36 Edg/120.0.1"},
    ),
    (
        '{{ a|parse_user_agent|join(" ") }}',
        "iPhone Safari 17.0",
        {"a": "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Version/17.0 Mobile/15E148 Safari/604.1"},
    ),
    ('{{ "curl/8.1"|parse_user_agent|json_encode }}', '{"platform":null,"browser":"curl","version":"8.1"}'),
    ('{{ "Mozilla/5.0"|parse_user_agent|json_encode }}', '{"platform":null,"browser":null,"version":null}'),
]
