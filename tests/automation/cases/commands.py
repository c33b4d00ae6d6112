"""Commands: variables, branches, outputs, texts in KATA."""

from tests.automation.cases.case import ALLOW, TEXT, Case

VARIABLES = [
    Case(
        "var.push onto lists, texts and nothing",
        """
        start:
          set:
            n@csv: 1,2
          var.push/a:
            output: r
            inputs:
              key: n
              value: 3
          var.push/b:
            inputs:
              key: n
              value@json: [4,5]
          var.push/c:
            inputs:
              key: n
              value@json: {"z":9}
          var.push/d:
            inputs:
              key: p:q
              value: x
          var.push/e:
            inputs:
              key: s
              value: x
          var.push/f:
            inputs:
              key: s2
          return:
            n@key: n
            r@key: r
            p@key: p
            s@key: s
            s2@key: s2
        """,
        given={"s": "str"},
        returned={
            "n": {"0": "1", "1": "2", "2": "3", "3": [4, 5], "z": 9},
            "r": ["1", "2", "3"],
            "p": {"q": ["x"]},
            "s": ["str", "x"],
            "s2": [None],
        },
        values={
            "s": ["str", "x"],
            "n": {"0": "1", "1": "2", "2": "3", "3": [4, 5], "z": 9},
            "r": ["1", "2", "3"],
            "p": {"q": ["x"]},
            "s2": [None],
        },
    ),
    Case(
        "var.set makes what is missing",
        """
        start:
          var.set/a:
            output: r
            inputs:
              key: p:q
              value: x
          var.set/b:
            inputs:
              key: p:q:z
              value: y
          var.set/c:
            output: rc
            inputs:
              key: a/b
              delimiter: /
              value@json: {"k":1}
          return:
            p@key: p
            r@key: r
            a@key: a
            rc@key: rc
        """,
        returned={"p": {"q": "x"}, "r": "x", "a": {"b": {"k": 1}}, "rc": {"k": 1}},
        values={"p": {"q": "x"}, "r": "x", "a": {"b": {"k": 1}}, "rc": {"k": 1}},
    ),
    Case(
        "var.set to an empty text",
        """
        start:
          var.set/a:
            inputs:
              key: p
              value@text:
          return:
            p@key: p
        """,
        returned={"p": ""},
        values={"p": ""},
    ),
    Case(
        "var.set without a value",
        """
        start:
          var.set/a:
            inputs:
              key: p
          return:
            p@key: p
        """,
        state="failure",
    ),
    Case(
        "var.set to null",
        """
        start:
          var.set/a:
            inputs:
              key: p
              value@json: null
          return:
            p@key: p
        """,
        returned={"p": None},
        values={"p": None},
    ),
    Case(
        "var.set takes no boolean",
        """
        start:
          var.set/a:
            inputs:
              key: p
              value@bool: yes
          return:
            p@key: p
        """,
        state="failure",
    ),
    Case(
        "var.set list append",
        """
        start:
          set:
            l@csv: a,b
          var.set:
            inputs:
              key: l:2
              value: c
          return:
            l@key: l
        """,
        returned={"l": ["a", "b", "c"]},
        values={"l": ["a", "b", "c"]},
    ),
    Case(
        "var.set number",
        """
        start:
          var.set:
            output: o
            inputs:
              key: n
              value@int: 5
          return:
            n@key: n
            o@key: o
        """,
        returned={"n": 5, "o": 5},
        values={"n": 5, "o": 5},
    ),
    Case(
        "set colon path is literal",
        """
        start:
          set:
            cfg:
              a: 1
          var.set:
            inputs:
              key: cfg:b
              value@int: 2
          return:
            cfg@key: cfg
        """,
        returned={"cfg": {"a": "1", "b": 2}},
        values={"cfg": {"a": "1", "b": 2}},
    ),
    Case(
        "a digit that is not a number is no place in a list",
        """
        start:
          set:
            list@csv: a, b
          var.unset:
            inputs:
              key: list:²
          return:
            list@key: list
        """,
        returned={"list": ["a", "b"]},
        values={"list": ["a", "b"]},
    ),
    Case(
        "var.unset without inputs",
        """
        start:
          var.unset/a:
            output: r
          return:
            x: 1
        """,
        state="failure",
    ),
    Case(
        "var.unset without inputs, handled",
        """
        start:
          var.unset/a:
            output: r
            on_error:
              log: {{r.error}}
              return:
                e@key: r:error
          return:
            x: 1
        """,
        returned={"e": TEXT},
        values={"r": {"error": TEXT}},
        log=[(7, "start:var.unset/a:on_error:log", TEXT)],
    ),
]

BRANCHES = [
    Case(
        "an input that there is not",
        ("start:\n  var.unset/a:\n    inputs:\n      key: a\n      foo: b\n"),
        state="failure",
    ),
    Case(
        "a key that there is not",
        ("start:\n  var.unset/a:\n    wat: 1\n    inputs:\n      key: a\n"),
        state="failure",
    ),
    Case(
        "on_success runs",
        """
        start:
          var.set:
            inputs:
              key: p
              value: 1
            on_success:
              log: ok
            on_error:
              log: bad
          log: after
        """,
        state="exit",
        values={"p": "1"},
        log=[(7, "start:var.set:on_success:log", "ok"), (7, "start:log", "after")],
    ),
    Case(
        "on_error runs, and the script goes on",
        """
        start:
          var.set:
            output: o
            inputs:
              key: p
            on_success:
              log: ok
            on_error:
              log: bad {{o.error}}
          log: after
        """,
        state="exit",
        values={"o": {"error": TEXT}},
        log=[(7, "start:var.set:on_error:log", TEXT), (7, "start:log", "after")],
    ),
    Case(
        "branches of the same name",
        """
        start:
          outcome/a:
            then:
              var.set:
                inputs:
                  key: p
                  value: 1
                on_success:
                  var.set:
                    inputs:
                      key: q
                      value: 2
                    on_success:
                      log: inner
                  log: outer
          log: end
        """,
        state="exit",
        values={"p": "1", "q": "2"},
        log=[
            (7, "start:outcome/a:then:var.set:on_success:var.set:on_success:log", "inner"),
            (7, "start:outcome/a:then:var.set:on_success:log", "outer"),
            (7, "start:log", "end"),
        ],
    ),
    Case(
        "nested on_success",
        """
        start:
          storage.set:
            inputs:
              key: k
              value: v
            on_success:
              storage.get:
                output: v
                inputs:
                  key: k
                on_success:
                  log: inner {{v}}
              log: outer
        """,
        policy=ALLOW,
        state="exit",
        values={"v": "v"},
        log=[
            (7, "start:storage.set:on_success:storage.get:on_success:log", "inner v"),
            (7, "start:storage.set:on_success:log", "outer"),
        ],
    ),
    Case(
        "output literal key",
        """
        start:
          storage.get:
            output: a:b
            inputs:
              key: k
              default: d
          return:
            keys@json: {{placeholders_list("a")|keys|json_encode}}
        """,
        policy=ALLOW,
        returned={"keys": [":b"]},
        values={"a:b": "d"},
    ),
    Case(
        "output templated",
        """
        start:
          set:
            nm: dyn
          storage.get:
            output: {{nm}}_x
            inputs:
              key: k
              default: d
          return:
            o@key: dyn_x
        """,
        policy=ALLOW,
        returned={"o": "d"},
        values={"nm": "dyn", "dyn_x": "d"},
    ),
    Case(
        "missing required output",
        """
        start:
          storage.get:
            inputs:
              key: k
            on_error:
              log: handled
          log/x: after
        """,
        policy=ALLOW,
        state="exit",
        log=[(7, "start:storage.get:on_error:log", "handled"), (7, "start:log/x", "after")],
    ),
]

KATA_TEXTS = [
    Case(
        "no KATA",
        """
        start:
          kata.parse:
            output: o
            inputs:
              kata@raw:
                a b c
            on_error:
              log: {{o.error}}
          return:
            o@key: o
        """,
        returned={"o": {"error": TEXT}},
        values={"o": {"error": TEXT}},
        log=[(7, "start:kata.parse:on_error:log", TEXT)],
    ),
    Case(
        "a key that the schema does not have",
        """
        start:
          kata.parse:
            output: o
            inputs:
              kata@raw:
                a: 1
                c: 2
              schema:
                attributes:
                  a:
                    types:
                      string:
            on_error:
              log: {{o.error}}
          return:
            o@key: o
        """,
        returned={"o": {"error": TEXT}},
        values={"o": {"error": TEXT}},
        log=[(7, "start:kata.parse:on_error:log", TEXT)],
    ),
    Case(
        "a name that the schema does not allow",
        """
        start:
          kata.parse:
            output: o
            inputs:
              kata@raw:
                a/x: 1
              schema:
                attributes:
                  a:
                    types:
                      string:
            on_error:
              log: {{o.error}}
          return:
            o@key: o
        """,
        returned={"o": {"error": TEXT}},
        values={"o": {"error": TEXT}},
        log=[(7, "start:kata.parse:on_error:log", TEXT)],
    ),
    Case(
        "a wrong type",
        """
        start:
          kata.parse:
            output: o
            inputs:
              kata@raw:
                a: x
              schema:
                attributes:
                  a:
                    types:
                      bool:
                  b:
                    required@bool: yes
                    types:
                      string:
            on_error:
              log: {{o.error}}
          return:
            o@key: o
        """,
        returned={"o": {"error": TEXT}},
        values={"o": {"error": TEXT}},
        log=[(7, "start:kata.parse:on_error:log", TEXT)],
    ),
]
