"""Encodings, JSON, CSV, URLs, escaping."""

from tests.template.run_cases import Case, Fails

ASKED = {"s": "what do ya want for nothing?"}

CASES: list[Case] = [
    ('{{ {a:1,"b":2}|json_encode }}', '{"a":1,"b":2}'),
    ("{{ {(s):1}|json_encode }}", '{"Hello":1}', {"s": "Hello"}),
    ("{{ {n5, s}|json_encode }}", '{"n5":"5","s":"Hello"}', {"n5": "5", "s": "Hello"}),
    ("{{ [1,2,]|json_encode }}", "[1,2]"),
    ("{{ [1, [2, 3]]|json_encode }}", "[1,[2,3]]"),
    ("{{ arr[1:1]|json_encode }}", "[1]", {"arr": [3, 1, 2]}),
    (
        '{{ {"a":1.0,"b":0.1,"c":null,"d":true,"e":[],"f":{}}|json_encode }}',
        '{"a":1,"b":0.1,"c":null,"d":true,"e":[],"f":[]}',
    ),
    ('{{ {"a":[1,2]}|json_encode(128) }}', '{\n    "a": [\n        1,\n        2\n    ]\n}'),
    ('{{ {"a":1} + {"b":2} |json_encode }}', Fails("a map cannot be counted with")),
    ("{{ f|json_encode }}", "false", {"f": False}),
    ("{{ [1,[2,{x:3}]]|json_encode }}", '[1,[2,{"x":3}]]'),
    ("{{ yes|json_encode }}{{ nil|json_encode }}", "truenull", {"nil": None, "yes": True}),
    ('{{ "é/x"|json_encode }}', '"\\u00e9\\/x"'),
    ("{{ {a:1}|json_encode(128) }}", '{\n    "a": 1\n}'),
    ("{{ nope|json_encode }}", "null"),
    ("{{ html|e }}", "&lt;b&gt;x&lt;/b&gt;", {"html": "<b>x</b>"}),
    ('{{ html|e("url") }}', "%3Cb%3Ex%3C%2Fb%3E", {"html": "<b>x</b>"}),
    ('{{ "x"|e("css") }}', "x"),
    ('{{ "<a>"|e("nope") }}', Fails("'escape' has no strategy 'nope'")),
    ("{{ s|e|e }}", "Hi", {"s": "Hi"}),
    ('{{ "<"|e }}{{ "<" }}', "&lt;<"),
    ("{{ q|e }}", "He said &quot;it&#039;s&quot; &lt;ok&gt; &amp; left", {"q": 'He said "it\'s" <ok> & left'}),
    ("{{ nope|e }}|", "|"),
    ('{{ html|escape("js") }}', "\\u003Cb\\u003Ex\\u003C\\/b\\u003E", {"html": "<b>x</b>"}),
    ('{{ "hi"|base64_encode }}', "aGk="),
    ("{{ 5|base64_encode }}", ""),
    ('{{ "a?>~"|base64url_encode }}', "YT8-fg"),
    ('{{ "YT8-fg"|base64url_decode }}', "a?>~"),
    ('{{ [["a b","c\\"d"],[1,nul]]|csv }}', '"a b","c""d"\n1,\n', {"nul": None}),
    ('{{ "x"|csv }}', ""),
    ('{{ [["=1+1", "+49 30", "-x", "@a", "a=b"]]|csv }}', "'=1+1,\"'+49 30\",'-x,'@a,a=b\n"),
    ('{{ [["-5", "+3.5", "-1e3", -5, 1.5, "-5+A1"]]|csv }}', "-5,+3.5,-1e3,-5,1.5,'-5+A1\n"),
    ("{{ [v]|csv }}", '"\'\t=1","\'\r=1","\'\n=1",\'＝1\n', {"v": ["\t=1", "\r=1", "\n=1", "＝1"]}),
    ("{{ nope|csv }}|", "|"),
    ('{{ "x"|hash_hmac("k","nope") }}', Fails("there is no algorithm 'nope'")),
    ('{{ "{\\"a\\":[1,{}]}"|json_pretty }}', '{\n    "a": [\n        1,\n        []\n    ]\n}'),
    ('{{ "x"|md5 }}', "9dd4e461268c8034f5c8564e155c67a6"),
    ("{{ nope|md5 }}|", "|"),
    ('{{ "a,b\\n\\"c d\\",e"|parse_csv|json_encode }}', '[["a","b"],["c d","e"]]'),
    ('{{ "a,b\\n"|parse_csv|json_encode }}', '[["a","b"]]'),
    (
        '{{ "http://u:p@h.io:8/p?q=1#f"|parse_url|json_encode }}',
        '{"scheme":"http","host":"h.io","port":8,"user":"u","pass":"p","path":"\\/p","query":"q=1","fragment":"f"}',
    ),
    ('{{ "x"|sha1 }}', "11f6ad8ec52a2984abaafd7c3b516503785c2072"),
    ('{{ "&lt;b&gt; &amp;quot;"|unescape }}', "<b> &quot;"),
    ('{{ "a%20b+c"|url_decode }}', "a b+c"),
    ("{{ name|url_encode }}", "Ana%20Lund", {"name": "Ana Lund"}),
    ("{{ nope|url_encode }}|", "|"),
    (
        (
            '{{ "Größe"|base64_encode|base64_decode }}{{ "aGk"|base64_decode }}'
            '{{ "a-G*k="|base64_decode }}{{ 5|base64_decode }}'
        ),
        "Größehihi",
    ),
    ('{{ "//79"|base64_decode|base64_encode }} {{ "__79"|base64url_decode|base64url_encode }}', "//79 __79"),
    ('{{ 5|md5 }}{{ []|sha1 }}|{{ ""|md5 }}', "|d41d8cd98f00b204e9800998ecf8427e"),
    # The second example of RFC 4231, and of RFC 2202.
    ('{{ s|hash_hmac("Jefe") }}', "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", ASKED),
    ('{{ s|hash_hmac("Jefe", "md5") }}', "750c783e6ab0b503eaa86e310a5db738", ASKED),
    ('{{ s|hash_hmac("Jefe", "sha1", true)|base64_encode }}', "7/zfauXrL6LSdBbV8YTfnCWafHk=", ASKED),
    ('{{ ""|hash_hmac("k") }}{{ 5|hash_hmac("k") }}', ""),
    (
        (
            '{{ "é"|convert_encoding("ISO-8859-1", "UTF-8")|base64_encode }}'
            ' {{ "6Q=="|base64_decode|convert_encoding("utf-8", "latin1") }}'
        ),
        "6Q== é",
    ),
    ('{{ "日"|convert_encoding("ascii", "utf-8") }}', "?"),
    ('{{ "a"|convert_encoding("utf-8", "rot13") }}', Fails("there is no character set 'rot13'")),
    ('{{ "a"|convert_encoding("idna", "utf-8") }}', Fails("there is no character set 'idna'")),
    ('{{ "a/b?ü~-_."|url_encode }} {{ "//4="|base64_decode|url_encode }}', "a%2Fb%3F%C3%BC~-_. %FF%FE"),
    (
        '{{ {a: [1, 2], b: {c: "x y"}, n: null, t: true, f: false}|url_encode }}',
        "a%5B0%5D=1&a%5B1%5D=2&b%5Bc%5D=x%20y&t=1&f=0",
    ),
    ('{{ [1, "b"]|url_encode }}|{{ []|url_encode }}', "0=1&1=b|"),
    ('{{ "a[]=1&a[]=2&b[c]=x%20y&d=+&e"|url_decode("json") }}', '{"a":["1","2"],"b":{"c":"x y"},"d":" ","e":""}'),
    ('{{ "%zz%C3%A9%"|url_decode }}', "%zzé%"),
    ('{{ "a"|url_decode("xml") }}', Fails("'url_decode' gives a text or json, not 'xml'")),
    (
        '{{ "é/x"|json_encode(320) }} {{ [1, 2]|json_encode(16) }} {{ [0.1, 10 ** 25, 1 / 3]|json_encode }}',
        '"é/x" {"0":1,"1":2} [0.1,1.0e+25,0.3333333333333333]',
    ),
    ('{{ "a"|json_encode(1) }}', Fails("'json_encode' has the flags 16, 64, 128 and 256, added up, not 1")),
    ("{{ (9 ** 1000)|json_encode }}", Fails("JSON has no infinite numbers")),
    ('{{ date("now")|json_encode }}', Fails("a date has no JSON")),
    ('{{ nope|json_pretty }}{{ "[1,\\"a/b\\"]"|json_pretty }}', '[\n    1,\n    "a\\/b"\n]'),
    ('{{ "nope"|json_pretty }}', Fails("'json_pretty' takes a JSON text, and this is none")),
    ('{{ [{a: 1, b: "x,y"}, "skipped", [true, false, null, [1]], []]|csv }}', '1,"x,y"\n1,,,Array\n\n'),
    ('{{ "a\\\\\\"b;c"|parse_csv(";")|json_encode }}', '[["a\\\\\\"b","c"]]'),
    (
        '{{ "\\"x\\"\\"y\\",\\"l1\\nl2\\"\\r\\n\\n,\\n\\"open"|parse_csv|json_encode }}',
        '[["x\\"y","l1\\nl2"],["",""],["open"]]',
    ),
    (
        (
            '{{ "a|\'b|c\'"|parse_csv("|", "\'")|json_encode }}'
            '{{ 5|parse_csv|json_encode }}{{ "a,"|parse_csv|json_encode }}'
        ),
        '[["a","b|c"]][][["a",""]]',
    ),
    ('{{ "a"|parse_csv("") }}', Fails("the separator of a CSV text is one character, not ''")),
    ('{{ "a"|parse_csv(",", "\'\'") }}', Fails("the enclosure of a CSV text is one character")),
    (
        '{{ "h.io:80/x"|parse_url|json_encode }}{{ "mailto:a@b"|parse_url|json_encode }}',
        '{"host":"h.io","port":80,"path":"\\/x"}{"scheme":"mailto","path":"a@b"}',
    ),
    (
        '{{ "//h/p?"|parse_url|json_encode }}{{ "http://[::1]:8/x"|parse_url|json_encode }}',
        '{"host":"h","path":"\\/p","query":""}{"scheme":"http","host":"[::1]","port":8,"path":"\\/x"}',
    ),
    (
        (
            '{{ "http:///x"|parse_url|json_encode }}'
            '{{ "http://h:99999/"|parse_url|json_encode }}{{ 5|parse_url|json_encode }}'
        ),
        "[][][]",
    ),
    (
        '{{ "it\'s <\\n😀"|e("js") }} {{ "a b<"|e("css") }} {{ "a b<é\\""|e("html_attr") }}',
        "it\\u0027s\\u0020\\u003C\\n\\uD83D\\uDE00 a\\20 b\\3C  a&#x20;b&lt;&#x00E9;&quot;",
    ),
    ('{{ 5|e }}{{ [1]|e|json_encode }}{{ 5|e("js") }}', "5[1]5"),
    ('{{ "&copy; &copy &#65;&#x42; &nope; &#99999999999;"|unescape }}', "© &copy AB &nope; &#99999999999;"),
    (
        '{{ "Ana Lund <Ana@X.example>, bo@y.example"|parse_emails|column("email")|join(" ") }}',
        "ana@x.example bo@y.example",
    ),
    (
        '{{ "\\"Lund, Ana\\" <ana@x.example>"|parse_emails|json_encode }}',
        (
            '[{"full_email":"\\"Lund, Ana\\" <ana@x.example>","email":"ana@x.example",'
            '"mailbox":"ana","host":"x.example","personal":"Lund, Ana"}]'
        ),
    ),
    ('{{ "nobody"|parse_emails|json_encode }}{{ 5|parse_emails|json_encode }}', "[][]"),
    (
        '{{ {a: 1, b: ["x", "y"], c: {d: "t"}}|kata_encode }}|{{ 5|kata_encode }}',
        "a@int: 1\nb@list:\n  x\n  y\nc:\n  d: t|",
    ),
    ('{{ "common.created_by"|svc_translate }} {{ "Other"|svc_translate }}', "Created by Other"),
    ('{{ "ticket"|context_name("colour") }}', Fails("a record type has no name 'colour'")),
]
