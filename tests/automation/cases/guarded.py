"""Commands that require permission of a policy, under policies and in simulations."""

from server.automation.host import Script
from tests.automation.cases.case import ALLOW, TEXT, TIME, Case

FUNCTIONS = {
    "math.add": Script(
        """
        inputs:
          text/a:
            type: number
            required@bool: yes
          text/b:
            type: number
            default: 10
        start:
          return:
            sum@int: {{inputs.a + inputs.b}}
        """,
    ),
    "fn.err": Script(
        """
        start:
          error: inner
        """,
    ),
    "fn.none": Script(
        """
        start:
          set:
            a: 1
        """,
    ),
    "wrong": Script(
        """
        start:
          return:
            a: 1
        """,
        trigger="svc.trigger.webhook.respond",
    ),
    "fn.await": Script(
        """
        start:
          await:
            x: 1
        """,
    ),
    "shop.tax": Script(
        """
        inputs:
          text/net:
            type: decimal
            required@bool: yes
        start:
          return:
            gross@float: {{inputs.net * 1.25}}
        """,
    ),
    "peek": Script(
        """
        start:
          set:
            leaked: 1
          return:
            saw: [{{secret}}]
        """,
    ),
}

CALLS_ALLOWED = """
commands:
  function:
    allow@bool: {{uri starts with "svc:automation:"}}
"""

STORAGE = [
    Case(
        "no policy",
        ("start:\n  storage.set:\n    inputs:\n      key: k\n      value: v\n"),
        state="failure",
    ),
    Case(
        "values are kept, read and removed",
        """
        start:
          storage.set:
            output: s
            inputs:
              key: k
              value@json: {"a":1}
              expires: +1 hour
          storage.get/a:
            output: g
            inputs:
              key: k
          storage.get/b:
            output: g2
            inputs:
              key: nope
              default: dd
          storage.get/c:
            output: g3
            inputs:
              key: nope
            on_error:
              log: {{g3.error}}
          storage.delete:
            output: d
            inputs:
              key: k
          return:
            g@key: g
            g2@key: g2
            d@key: d
            s_key@key: s:key
        """,
        policy=ALLOW,
        returned={"g": {"a": 1}, "g2": "dd", "d": True, "s_key": "k"},
        values={"s": {"key": "k", "expires": TIME}, "g": {"a": 1}, "g2": "dd", "g3": {"error": TEXT}, "d": True},
        log=[(7, "start:storage.get/c:on_error:log", TEXT)],
    ),
    Case(
        "an expiry that is not a time",
        (
            "start:\n"
            "  storage.set:\n"
            "    output: s\n"
            "    inputs:\n"
            "      key: k\n"
            "      value: v\n"
            "      expires: gibberish\n"
        ),
        policy=ALLOW,
        state="failure",
    ),
    Case(
        "four byte characters",
        """
        start:
          storage.set:
            output: s
            inputs:
              key: a😀b
              value: c😀d
          storage.get:
            output: o
            inputs:
              key: a😀b
          return:
            k@key: s:key
            v@key: o
        """,
        policy=ALLOW,
        returned={"k": "a😀b", "v": "c😀d"},
        values={"s": {"key": "a😀b", "expires": 0}, "o": "c😀d"},
    ),
]

POLICIES = [
    Case(
        "rules that are false",
        """
        start:
          storage.get/a:
            output: o
            inputs:
              key: k
              default: d
          return:
            o@key: o
        """,
        policy="""
        commands:
          storage.get:
            deny: no
            allow: no
          all:
            allow: yes
        """,
        returned={"o": "d"},
        values={"o": "d"},
    ),
    Case(
        "rules for all come last",
        """
        start:
          storage.get/a:
            output: o
            inputs:
              key: k
              default: d
          return:
            o@key: o
        """,
        policy="""
        commands:
          all:
            deny: yes
          storage.get:
            allow: yes
        """,
        returned={"o": "d"},
        values={"o": "d"},
    ),
    Case(
        "a policy that cannot be read",
        """
        start:
          storage.get/a:
            output: o
            inputs:
              key: k
              default: d
          return:
            o@key: o
        """,
        policy=("commands:\n\tall:\n"),
        state="failure",
    ),
    Case(
        "a rule that fails",
        """
        start:
          storage.get/a:
            output: o
            inputs:
              key: k
              default: d
          return:
            o@key: o
        """,
        policy="""
        commands:
          storage.get:
            allow/x@bool: {{ nofunc() }}
            allow/y: yes
        """,
        state="failure",
    ),
    Case(
        "allow and deny of one name are two rules",
        """
        start:
          storage.get/a:
            output: o
            inputs:
              key: k
              default: d
          return:
            o@key: o
        """,
        policy="""
        commands:
          storage.get:
            allow/x: no
            deny/x: yes
          all:
            allow/x: yes
        """,
        state="failure",
    ),
    Case(
        "a rule with an annotation",
        """
        start:
          storage.get/a:
            output: o
            inputs:
              key: k
              default: d
          return:
            o@key: o
        """,
        policy="""
        commands:
          storage.get:
            allow@bool: yes
        """,
        returned={"o": "d"},
        values={"o": "d"},
    ),
    Case(
        "policy by input",
        """
        start:
          storage.set/one:
            inputs:
              key: app.colour
              value: red
            on_error:
              log: one blocked
          storage.set/two:
            inputs:
              key: other
              value: red
            on_error:
              log: two blocked
        """,
        policy="""
        commands:
          storage.set:
            allow/mine@bool: {{inputs.key starts with "app."}}
        """,
        state="exit",
        log=[(7, "start:storage.set/two:on_error:log", "two blocked")],
    ),
    Case(
        "policy by node",
        """
        start:
          storage.get/one:
            output: a
            inputs:
              key: k
              default: d
          storage.get/two:
            output: b
            inputs:
              key: k
              default: d
            on_error:
              log: two blocked
        """,
        policy="""
        commands:
          storage.get:
            deny/two@bool: {{node.id ends with "storage.get/two"}}
            allow@bool: yes
        """,
        state="exit",
        values={"a": "d", "b": {"error": TEXT}},
        log=[(7, "start:storage.get/two:on_error:log", "two blocked")],
    ),
    Case(
        "policy rule without annotation",
        """
        start:
          storage.get:
            output: a
            inputs:
              key: k
              default: d
          return:
            r@key: a
        """,
        policy="""
        commands:
          storage.get:
            deny: no
            allow: yes
        """,
        returned={"r": "d"},
        values={"a": "d"},
    ),
]

SIMULATIONS = [
    Case(
        "commands without a branch run",
        """
        start:
          storage.set:
            output: o
            inputs:
              key: k
              value: v
          return:
            o@key: o
        """,
        given={"__simulate": True},
        policy=ALLOW,
        returned={"o": {"key": "k", "expires": 0}},
        values={"o": {"key": "k", "expires": 0}},
    ),
    Case(
        "a success",
        """
        start:
          storage.get:
            output: o
            inputs:
              key: k
            on_simulate:
              simulate.success:
                a: 1
              log: aftersim
            on_success:
              log: success {{o.a}}
            on_error:
              log: error
          return:
            o@key: o
        """,
        given={"__simulate": True},
        returned={"o": {"a": "1"}},
        values={"o": {"a": "1"}},
        log=[(7, "start:storage.get:on_success:log", "success 1")],
    ),
    Case(
        "an error",
        """
        start:
          storage.get:
            output: o
            inputs:
              key: k
            on_simulate:
              simulate.error:
                error: fake
            on_success:
              log: success
            on_error:
              log: error {{o.error}}
          return:
            o@key: o
        """,
        given={"__simulate": True},
        returned={"o": {"error": "fake"}},
        values={"o": {"error": "fake"}},
        log=[(7, "start:storage.get:on_error:log", "error fake")],
    ),
    Case(
        "outside its place",
        """
        start:
          simulate.success:
            a: 1
          return:
            x: 1
        """,
        given={"__simulate": True},
        state="failure",
    ),
    Case(
        "no simulation",
        """
        start:
          storage.get:
            output: o
            inputs:
              key: k
              default: real
            on_simulate:
              simulate.success:
                a: 1
          return:
            o@key: o
        """,
        policy=ALLOW,
        returned={"o": "real"},
        values={"o": "real"},
    ),
    Case(
        "a failure is not logged",
        """
        start:
          log: x
          error: boom
        """,
        given={"__simulate": True},
        state="failure",
        message="boom",
        log=[(7, "start:log", "x")],
    ),
    Case(
        "simulate mock",
        """
        start:
          storage.get:
            output: v
            inputs:
              key: k
            on_simulate:
              simulate.success:
                colour: teal
          return:
            c@key: v:colour
        """,
        given={"__simulate": True},
        returned={"c": "teal"},
        values={"v": {"colour": "teal"}},
    ),
    Case(
        "rest of on_simulate is skipped",
        """
        start:
          storage.get:
            output: o
            inputs:
              key: k
            on_simulate:
              log: pre
              simulate.success:
                a: 1
              log/after: post
            on_success:
              log: ok
        """,
        given={"__simulate": True},
        state="exit",
        values={"o": {"a": "1"}},
        log=[(7, "start:storage.get:on_simulate:log", "pre"), (7, "start:storage.get:on_success:log", "ok")],
    ),
]

CALLS = [
    Case(
        "a function with inputs",
        """
        start:
          function:
            uri: svc:automation:math.add
            inputs:
              a: 5
            output: o
          return:
            o@key: o
        """,
        policy=CALLS_ALLOWED,
        functions=FUNCTIONS,
        returned={"o": {"sum": 15}},
        values={"o": {"sum": 15}},
    ),
    Case(
        "a function without its input",
        """
        start:
          function:
            uri: svc:automation:math.add
            output: o
          return:
            o@key: o
        """,
        policy=CALLS_ALLOWED,
        functions=FUNCTIONS,
        state="failure",
        log=[(3, "", TEXT)],
    ),
    Case(
        "a function that fails",
        """
        start:
          function:
            uri: svc:automation:fn.err
            output: o
            on_error:
              log: H {{o.error}}
          return:
            o@key: o
        """,
        policy=CALLS_ALLOWED,
        functions=FUNCTIONS,
        returned={"o": {"error": "inner"}},
        values={"o": {"error": "inner"}},
        log=[(3, "", "inner"), (7, "start:function:on_error:log", "H inner")],
    ),
    Case(
        "a function that waits",
        """
        start:
          function:
            uri: svc:automation:fn.await
            output: o
          return:
            o@key: o
        """,
        policy=CALLS_ALLOWED,
        functions=FUNCTIONS,
        returned={"o": {"x": "1"}},
        values={"o": {"x": "1"}},
    ),
    Case(
        "not a function",
        ("start:\n  function:\n    uri: svc:automation:wrong\n    output: o\n"),
        policy=CALLS_ALLOWED,
        functions=FUNCTIONS,
        state="failure",
    ),
    Case(
        "function call",
        """
        start:
          function:
            uri: svc:automation:shop.tax
            inputs:
              net@float: 100
            output: t
          return:
            gross@key: t:gross
        """,
        policy="""
        commands:
          function:
            allow@bool: {{uri == "svc:automation:shop.tax"}}
        """,
        functions=FUNCTIONS,
        returned={"gross": 125},
        values={"t": {"gross": 125}},
    ),
    Case(
        "function scope is separate",
        """
        start:
          set:
            secret: s3
          function:
            uri: svc:automation:peek
            output: t
          return:
            t@key: t
            leaked@key: leaked
        """,
        policy="""
        commands:
          function:
            allow@bool: yes
        """,
        functions=FUNCTIONS,
        returned={"t": {"saw": "[]"}, "leaked": None},
        values={"secret": "s3", "t": {"saw": "[]"}},
    ),
]

REQUESTS = [
    Case(
        "a request without a policy",
        """
        start:
          http.request:
            output: o
            inputs:
              url: https://x.example/
            on_error:
              log: {{o.error}}
          return:
            o@key: o
        """,
        returned={"o": {"error": TEXT}},
        values={"o": {"error": TEXT}},
        log=[(7, "start:http.request:on_error:log", TEXT)],
    ),
    Case(
        "a request to nowhere",
        """
        start:
          http.request:
            output: o
            inputs:
              url: notaurl
            on_error:
              log: {{o.error}}
        """,
        policy="""
        commands:
          http.request:
            allow: yes
        """,
        state="exit",
        values={"o": {"error": TEXT}},
        log=[(7, "start:http.request:on_error:log", TEXT)],
    ),
]
