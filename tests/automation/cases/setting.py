"""Values: `set`, and the conversion of parameters."""

from tests.automation.cases.case import TEXT, Case

SET = [
    Case(
        "keys see those before them",
        """
        start:
          set:
            a@int: 2
            b@int: {{a*2}}
            o:
              p: {{b}}
              q@int: {{o.p|default(9)}}
          return:
            b@key: b
            o@key: o
        """,
        returned={"b": 4, "o": {"p": "4", "q": 9}},
        values={"a": 2, "b": 4, "o": {"p": "4", "q": 9}},
    ),
    Case(
        "paths have colons",
        """
        start:
          set:
            a:
              b:
                c: 1
          set/2:
            x@key: a:b:c
            y@key: a.b.c
            z@key: a:b
            w@key: a
          return:
            x@key: x
            y@key: y
            z@key: z
            w@key: w
        """,
        returned={"x": "1", "y": None, "z": {"c": "1"}, "w": {"b": {"c": "1"}}},
        values={"a": {"b": {"c": "1"}}, "x": "1", "y": None, "z": {"c": "1"}, "w": {"b": {"c": "1"}}},
    ),
    Case(
        "set overwrites",
        """
        start:
          set:
            a: 1
            a/b: 2
          return:
            a@key: a
            ab@key: a/b
        """,
        returned={"a": "1", "ab": "2"},
        values={"a": "1", "a/b": "2"},
    ),
    Case(
        "set order",
        """
        start:
          set:
            price@float: 4.50
            qty@int: 3
            total@float: {{price * qty}}
          return:
            total@key: total
            text: {{total}}
        """,
        returned={"total": 13.5, "text": "13.5"},
        values={"price": 4.5, "qty": 3, "total": 13.5},
    ),
    Case(
        "set dotted key",
        """
        start:
          set:
            a.b: 1
          return:
            lit@key: a.b
            tpl: {{a.b}}|
        """,
        returned={"lit": "1", "tpl": "|"},
        values={"a.b": "1"},
    ),
    Case(
        "a template that fails",
        """
        start:
          set:
            a: x{{ 1/0 }}
          return:
            a@key: a
        """,
        returned={"a": False},
        values={"a": False},
        log=[(3, "start:set:a", TEXT)],
    ),
    Case(
        "annotations that there are not",
        """
        start:
          return:
            a@wat: 5
            b@int,wat: 7
        """,
        returned={"a": "5", "b": 7},
    ),
    Case(
        "optional values",
        """
        start:
          return:
            a@optional: {{nope}}
            b@optional: x
            c@key,optional: zz
            d@optional:
              x: 1
        """,
        returned={"b": "x", "d": {"x": "1"}},
    ),
    Case(
        "raw texts",
        """
        start:
          return:
            a@raw: {{x}}
            b@raw,json: {"a":1}
            c@raw:
              {{x}}
              y
        """,
        returned={"a": "{{x}}", "b@json": '{"a":1}', "c": "{{x}}\ny"},
    ),
    Case(
        "KATA inside KATA",
        """
        start:
          return:
            a@text,kata:
              x@int: 1
              y:
                z: {{2}}
            b@kata:
              x@int: 1
        """,
        returned={"a": {"x@int": "1", "y": {"z": "2"}}, "b": {"x": 1}},
    ),
    Case(
        "booleans",
        (
            "start:\n"
            "  return:\n"
            "    a@bool: {{1 == 1}}\n"
            "    b@bool: {{1 == 2}}\n"
            "    c@bool: yes\n"
            "    d@bool: \n"
            "    e@bool: {{nope}}\n"
            "    f@bit: {{true}}"
        ),
        returned={"a": True, "b": False, "c": True, "d": False, "e": False, "f": 1},
    ),
    Case(
        "powers of ten",
        """
        start:
          return:
            a@int: 1E+3
            b@float: 1E+3
            c@int: {{1000*1000}}
        """,
        returned={"a": "1E+3", "b": "1E+3", "c": 1000000},
    ),
    Case(
        "key missing",
        """
        start:
          return:
            v@key: a:b:c
            w@key: nope
        """,
        given={"a": {"b": "str"}},
        returned={"v": "str", "w": None},
        values={"a": {"b": "str"}},
    ),
    Case(
        "key of str path",
        """
        start:
          return:
            v@key: a:b
        """,
        given={"a": "str"},
        returned={"v": "str"},
        values={"a": "str"},
    ),
    Case(
        "body base64",
        """
        start:
          return:
            body@base64: aGk=
        """,
        returned={"body": "hi"},
    ),
    Case(
        "body raw base64",
        """
        start:
          return:
            body@raw,base64: aGk=
        """,
        returned={"body@base64": "aGk="},
    ),
    Case(
        "body text block",
        """
        start:
          return:
            body@text:
              line {{x}}
              {% if x %}
              two
              {% endif %}
              end
        """,
        given={"x": 1},
        returned={"body": "line 1\ntwo\nend"},
        values={"x": 1},
    ),
    Case(
        "json with tmpl",
        """
        start:
          return:
            v@json:
              {
                "a": {{x|json_encode}},
                "b": [{% for i in y %}{{i}}{% if not loop.last %},{% endif %}{% endfor %}]
              }
        """,
        given={"x": 'q"z', "y": [1, 2]},
        returned={"v": {"a": 'q"z', "b": [1, 2]}},
        values={"x": 'q"z', "y": [1, 2]},
    ),
]

WHOLE = [
    Case(
        "inputs by path and by template",
        """
        inputs:
          text/x:
        start:
          return:
            x@key: inputs:x
            y: {{inputs.x}}
        """,
        given={"inputs": {"x": "v"}},
        returned={"x": "v", "y": "v"},
        values={"inputs": {"x": "v"}},
    ),
    Case(
        "greeting",
        """
        inputs:
          text/name:
            required@bool: yes
        start:
          set:
            line: Hello {{inputs.name|upper}}
          return:
            line@key: line
            size@int: {{line|length}}
        """,
        given={"inputs": {"name": "Ana"}},
        returned={"line": "Hello ANA", "size": 9},
        values={"inputs": {"name": "Ana"}, "line": "Hello ANA"},
    ),
    Case(
        "greeting missing input",
        """
        inputs:
          text/name:
            required@bool: yes
        start:
          return:
            x: 1
        """,
        state="failure",
    ),
    Case(
        "inputs array",
        """
        inputs:
          array/ids:
            required@bool: yes
        start:
          return:
            n@int: {{inputs.ids|length}}
        """,
        given={"inputs": {"ids": [4, 5, 6]}},
        returned={"n": 3},
        values={"inputs": {"ids": [4, 5, 6]}},
    ),
]
