"""Whole scripts, and the control flow inside them."""

from tests.automation.cases.case import TEXT, Case

SHAPE = [
    Case(
        "a result",
        """
        start:
          return:
            x: 1
        """,
        returned={"x": "1"},
    ),
    Case(
        "no result",
        """
        start:
          set:
            x: 1
        """,
        state="exit",
        values={"x": "1"},
    ),
    Case(
        "nothing to do",
        "start:",
        state="exit",
    ),
    Case(
        "no start",
        """
        foo:
          x: 1
        """,
        state="failure",
    ),
    Case(
        "no text",
        "",
        state="failure",
    ),
    Case(
        "a tab",
        ("start:\n\tx"),
        state="failure",
    ),
    Case(
        "a command that there is not",
        """
        start:
          wat:
            x: 1
        """,
        state="failure",
    ),
    Case(
        "an error with its text",
        """
        start:
          error: boom
        """,
        state="failure",
        message="boom",
    ),
    Case(
        "the first of two starts",
        """
        start:
          log: a
        start/b:
          log: b
        """,
        state="exit",
        log=[(7, "start:log", "a")],
    ),
    Case(
        "a text where a map belongs",
        """
        start:
          set: hi
          return:
            x: 1
        """,
        returned={"x": "1"},
        values={"": "hi"},
    ),
    Case(
        "start with a text",
        "start: hi",
        state="failure",
    ),
    Case(
        "start with an annotation",
        """
        start@raw:
          return:
            x: 1
        """,
        state="failure",
    ),
    Case(
        "an annotation on a command",
        """
        start:
          log@raw: hi
        """,
        state="failure",
    ),
    Case(
        "comments",
        """
        start:
          # c
          set:
            a: 1 # keep
          #return:
          #  z: 1
          return:
            a@key: a
        """,
        returned={"a": "1 # keep"},
        values={"a": "1 # keep"},
    ),
    Case(
        "references to values",
        """
        start:
          return@ref: r
        &r:
          a: 1
          b@ref: s
        &s@json: [1]
        """,
        returned={"a": "1", "b": [1]},
    ),
    Case(
        "a reference to a command",
        """
        start:
          outcome/a@ref: oc
        &oc:
          if@bool: yes
          then:
            return:
              x: 1
        """,
        returned={"x": "1"},
    ),
    Case(
        "reference as a command body",
        """
        start:
          return@ref: answer

        &answer:
          code@int: 200
          note: fine
        """,
        returned={"code": 200, "note": "fine"},
    ),
    Case(
        "shared branch",
        """
        start:
          outcome/a:
            if@bool: no
            then@ref: say
          outcome/b:
            if@bool: yes
            then@ref: say

        &say:
          log: said
        """,
        state="exit",
        log=[(7, "start:outcome/b:then:log", "said")],
    ),
    Case(
        "unknown command inside then is dropped",
        """
        start:
          log: first
          outcome:
            then:
              log: in
              wat: 1
          log/z: last
        """,
        state="exit",
        log=[(7, "start:log", "first"), (7, "start:outcome:then:log", "in"), (7, "start:log/z", "last")],
    ),
    Case(
        "annotated command fails late",
        """
        start:
          log: first
          set@json: {}
        """,
        state="failure",
        log=[(7, "start:log", "first")],
    ),
    Case(
        "no time limit is the usual one",
        """
        start:
          set:
            x: 1
          return:
            x: 1
        """,
        policy="""
        settings:
          time_limit_ms: 0
        """,
        returned={"x": "1"},
        values={"x": "1"},
    ),
]

ENDINGS = [
    Case(
        "a result from a path",
        """
        start:
          set:
            o:
              a: 1
          return@key: o
        """,
        returned={"a": "1"},
        values={"o": {"a": "1"}},
    ),
    Case(
        "a result from deep in a path",
        """
        start:
          set:
            o:
              a:
                b: 2
          return@key: o:a
        """,
        returned={"b": "2"},
        values={"o": {"a": {"b": "2"}}},
    ),
    Case(
        "a result from JSON",
        """
        start:
          return@json: {"a":1}
        """,
        state="failure",
    ),
    Case(
        "return nested and typed",
        """
        start:
          return:
            a@int: 1
            b@bool: no
            c:
              d@csv: x,y
            e@json: {"k":[1]}
        """,
        returned={"a": 1, "b": False, "c": {"d": ["x", "y"]}, "e": {"k": [1]}},
    ),
    Case(
        "return empty",
        """
        start:
          return:
        """,
        returned=[],
    ),
    Case(
        "code after return is dead",
        """
        start:
          return:
            a: 1
          log: never
        """,
        returned={"a": "1"},
    ),
    Case(
        "named keys in return",
        """
        start:
          return:
            x/1: a
            x/2: b
        """,
        returned={"x/1": "a", "x/2": "b"},
    ),
    Case(
        "waiting ends the run",
        """
        start:
          await:
            until: 5
          return:
            x: done
        """,
        state="await",
        returned={"until": "5"},
    ),
    Case(
        "await scalar",
        """
        start:
          await: hi
        """,
        state="await",
        returned={"": "hi"},
    ),
    Case(
        "await inside repeat",
        """
        start:
          repeat:
            each@csv: a,b
            as: x
            do:
              await:
                v@key: x
          return:
            done: 1
        """,
        state="await",
        returned={"v": "a"},
        values={"x__index": 0, "x": "a"},
    ),
]

LOGGING = [
    Case(
        "every level",
        """
        start:
          log: hi
          log.warn: w
          log.error: e
          log.alert: al
          log/x: named
          log/empty:
        """,
        state="exit",
        log=[
            (7, "start:log", "hi"),
            (4, "start:log.warn", "w"),
            (3, "start:log.error", "e"),
            (1, "start:log.alert", "al"),
            (7, "start:log/x", "named"),
        ],
    ),
    Case(
        "a text of lines",
        """
        start:
          log@text:
            hi
        """,
        state="exit",
        log=[(7, "start:log", "hi")],
    ),
    Case(
        "a map is not logged",
        """
        start:
          log:
            message: hi
        """,
        state="exit",
    ),
    Case(
        "log zero ignored",
        """
        start:
          log: 0
          log/b: {{ 0 }}
          log/c: 00
        """,
        state="exit",
        log=[(7, "start:log/c", "00")],
    ),
    Case(
        "named commands",
        """
        start:
          log/a: 1
          log/b: 2
          log: 3
        """,
        state="exit",
        log=[(7, "start:log/a", "1"), (7, "start:log/b", "2"), (7, "start:log", "3")],
    ),
]

DECISIONS = [
    Case(
        "the first outcome that holds",
        """
        start:
          decision/d:
            outcome/a:
              if@bool: {{x == 1}}
              then:
                log: A
                set:
                  r: A
            outcome/b:
              if@bool: {{x == 2}}
              then:
                log: B
                set:
                  r: B
            outcome/c:
              then:
                log: C
                set:
                  r: C
          log: after
          return:
            r@key: r
        """,
        given={"x": 2},
        returned={"r": "B"},
        values={"x": 2, "r": "B"},
        log=[(7, "start:decision/d:outcome/b:then:log", "B"), (7, "start:log", "after")],
    ),
    Case(
        "no outcome holds",
        """
        start:
          decision:
            outcome/a:
              if@bool: no
              then:
                log: A
          return:
            r: end
        """,
        returned={"r": "end"},
    ),
    Case(
        "an outcome without a name",
        ("start:\n  decision:\n    outcome:\n      then:\n        log: A\n"),
        state="exit",
        log=[(7, "start:decision:outcome:then:log", "A")],
    ),
    Case(
        "a command in a decision",
        ("start:\n  decision:\n    set:\n      x: 1\n"),
        state="failure",
    ),
    Case(
        "decision order",
        """
        start:
          decision/size:
            outcome/big:
              if@bool: {{n > 100}}
              then:
                set:
                  r: big
            outcome/mid:
              if@bool: {{n > 10}}
              then:
                set:
                  r: mid
            outcome/small:
              then:
                set:
                  r: small
          return:
            r@key: r
        """,
        given={"n": 50},
        returned={"r": "mid"},
        values={"n": 50, "r": "mid"},
    ),
    Case(
        "decision condition lazily",
        """
        start:
          decision:
            outcome/a:
              if@bool: yes
              then:
                set:
                  r: first
            outcome/b:
              if@bool: {{ 1 / 0 }}
              then:
                set:
                  r: second
          return:
            r@key: r
        """,
        returned={"r": "first"},
        values={"r": "first"},
    ),
    Case(
        "unknown key in decision",
        """
        start:
          decision:
            if@bool: yes
            outcome:
              then:
                log: x
        """,
        state="failure",
    ),
    Case(
        "nested decision",
        """
        start:
          outcome:
            then:
              decision:
                outcome/a:
                  then:
                    log: deep
        """,
        state="exit",
        log=[(7, "start:outcome:then:decision:outcome/a:then:log", "deep")],
    ),
    Case(
        "an annotation on then",
        """
        start:
          outcome:
            if@bool: yes
            then@text:
              x: 1
          return:
            x: 2
        """,
        returned={"x": "2"},
    ),
    Case(
        "outcome if zero text",
        """
        start:
          outcome:
            if: 0
            then:
              return:
                r: yes
          return:
            r: no
        """,
        returned={"r": "no"},
    ),
    Case(
        "broken condition without annotation",
        """
        start:
          outcome:
            if: {{ 1 / 0 }}
            then:
              return:
                r: yes
          return:
            r: no
        """,
        returned={"r": "no"},
        log=[(3, "start:outcome", TEXT)],
    ),
    Case(
        "conditions by type",
        """
        start:
          outcome/list:
            if@csv: a,b
            then:
              log: list
          outcome/empty:
            if@json: []
            then:
              log: empty
          outcome/nil:
            if@json: null
            then:
              log: null
          outcome/zero:
            if@int: 0
            then:
              log: zero
          outcome/word:
            if: false
            then:
              log: word
        """,
        state="exit",
        log=[(7, "start:outcome/list:then:log", "list"), (7, "start:outcome/word:then:log", "word")],
    ),
]

LOOPS = [
    Case(
        "a list",
        """
        start:
          repeat:
            each@json: [1,2,3]
            as: i
            do:
              log: {{i__index}}={{i}}
          return:
            i@key: i
        """,
        returned={"i": None},
        log=[(7, "start:repeat:do:log", "0=1"), (7, "start:repeat:do:log", "1=2"), (7, "start:repeat:do:log", "2=3")],
    ),
    Case(
        "a text is not a list",
        """
        start:
          repeat:
            each: abc
            as: i
            do:
              log: x
          log: end
        """,
        state="failure",
    ),
    Case(
        "loops in loops",
        """
        start:
          repeat/o:
            each@csv: a,b
            as: x
            do:
              repeat/i:
                each@csv: 1,2
                as: y
                do:
                  log: {{x}}{{y}}
                  outcome:
                    if@bool: {{y == 2}}
                    then:
                      log: two
          log: end
        """,
        state="exit",
        log=[
            (7, "start:repeat/o:do:repeat/i:do:log", "a1"),
            (7, "start:repeat/o:do:repeat/i:do:log", "a2"),
            (7, "start:repeat/o:do:repeat/i:do:outcome:then:log", "two"),
            (7, "start:repeat/o:do:repeat/i:do:log", "b1"),
            (7, "start:repeat/o:do:repeat/i:do:log", "b2"),
            (7, "start:repeat/o:do:repeat/i:do:outcome:then:log", "two"),
            (7, "start:log", "end"),
        ],
    ),
    Case(
        "a key that repeat does not have",
        """
        start:
          repeat:
            each@csv: a
            as: x
            wat: 1
            do:
              log: x
        """,
        state="failure",
    ),
    Case(
        "a result inside a loop",
        """
        start:
          repeat:
            each@csv: a,b
            as: x
            do:
              return:
                x@key: x
          log: end
        """,
        returned={"x": "a"},
        values={"x__index": 0, "x": "a"},
    ),
    Case(
        "repeat over map value only",
        """
        start:
          repeat:
            each@json: {"a":1,"b":2}
            as: v
            do:
              log: {{v__index}}={{v}}
        """,
        state="exit",
        log=[(7, "start:repeat:do:log", "a=1"), (7, "start:repeat:do:log", "b=2")],
    ),
    Case(
        "repeat of records",
        """
        start:
          repeat:
            each@json: [{"n":"A","q":2},{"n":"B","q":3}]
            as: row
            do:
              log: {{row.n}}x{{row.q}}
        """,
        state="exit",
        log=[(7, "start:repeat:do:log", "Ax2"), (7, "start:repeat:do:log", "Bx3")],
    ),
    Case(
        "repeat each by key",
        """
        start:
          repeat:
            each@key: cart
            as: k, v
            do:
              log: {{k}}={{v.qty}}
        """,
        given={"cart": {"pen": {"qty": 2}, "ink": {"qty": 1}}},
        state="exit",
        values={"cart": {"pen": {"qty": 2}, "ink": {"qty": 1}}},
        log=[(7, "start:repeat:do:log", "pen=2"), (7, "start:repeat:do:log", "ink=1")],
    ),
    Case(
        "repeat of json text is not iterated",
        """
        start:
          repeat:
            each: [1,2]
            as: v
            do:
              log: {{v}}
          log: end
        """,
        state="failure",
        message="start:repeat: `each:` of repeat is a text ('[1,2]'), not a list; write each@csv, each@list or "
        "each@json for a text, or each@key for a list in the dictionary (line 2)",
    ),
    Case(
        "repeat over a number fails",
        """
        start:
          repeat:
            each@int: 5
            as: v
            do:
              log: {{v}}
        """,
        state="failure",
    ),
    Case(
        "repeat over nothing runs no loop",
        """
        start:
          repeat/blank:
            each: {{none}}
            as: v
            do:
              log: {{v}}
          repeat/missing:
            each@key: none
            as: v
            do:
              log: {{v}}
          log: end
        """,
        state="exit",
        log=[(7, "start:log", "end")],
    ),
    Case(
        "repeat modifies source",
        """
        start:
          set:
            src@csv: a,b
          repeat:
            each@key: src
            as: v
            do:
              var.push:
                inputs:
                  key: src
                  value: more
          return:
            src@key: src
        """,
        returned={"src": ["a", "b", "more", "more"]},
        values={"src": ["a", "b", "more", "more"]},
    ),
    Case(
        "repeat unsets outer var of same name",
        """
        start:
          set:
            v: keep
          repeat:
            each@csv: a
            as: v
            do:
              log: {{v}}
          return:
            v@key: v
        """,
        returned={"v": None},
        log=[(7, "start:repeat:do:log", "a")],
    ),
    Case(
        "as long as a condition holds",
        """
        start:
          set:
            n@int: 0
          while:
            if@bool: {{n < 3}}
            do:
              set:
                n@int: {{n+1}}
              log: n{{n}}
          return:
            n@key: n
        """,
        returned={"n": 3},
        values={"n": 3},
        log=[(7, "start:while:do:log", "n1"), (7, "start:while:do:log", "n2")],
    ),
    Case(
        "while without a condition",
        ("start:\n  while:\n    do:\n      set:\n        n@int: {{n+1}}\n"),
        state="failure",
    ),
    Case(
        "the condition is asked before every command",
        """
        start:
          set:
            n@int: 0
          while:
            if@bool: {{n < 2}}
            do:
              log/a: a{{n}}
              set:
                n@int: {{n+1}}
              log/b: b{{n}}
          while/again:
            if@bool: {{n < 4}}
            do:
              set:
                n@int: {{n+1}}
              outcome:
                if@bool: {{n == 3}}
                then:
                  log: three
          return:
            n@key: n
        """,
        returned={"n": 4},
        values={"n": 4},
        log=[
            (7, "start:while:do:log/a", "a0"),
            (7, "start:while:do:log/b", "b1"),
            (7, "start:while:do:log/a", "a1"),
            (7, "start:while/again:do:outcome:then:log", "three"),
        ],
    ),
]
