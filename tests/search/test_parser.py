"""The search language from text to tree, and the texts of single values.

Trees are written compactly: =open is a word, "open" a quoted text, [=a =b] a list, subject:=x a term, subject:!=x a
negated one, and(...), or(...) groups, !or(...) a negated group, org:and(...) and org:alland(...) subqueries.
"""

import random

import pytest

from server.errors import BadQuery, Invalid
from server.search import query_tokens, values
from server.search.ast import BareWord, BooleanGroup, Items, Query, SearchValue, Sort, Subquery, Term
from server.search.control_terms import query_of
from server.search.query_parser import MAX_CACHED_CHARS, MAX_DEPTH, MAX_QUERY_CHARS, MAX_TERMS, parse, parse_group
from tests.steps import steps


def compact(node: object) -> str:
    match node:
        case Query():
            return compact(node.root)
        case BooleanGroup():
            return f"{'!' * node.negated}{node.op}({' '.join(map(compact, node.children))})"
        case BareWord():
            return f"{'!' * node.negated}{compact(node.text)}"
        case Term():
            return f"{node.field}:{'!' * node.negated}{compact(node.value)}"
        case Subquery():
            return f"{'all' * node.all}{compact(node.root)}"
        case Items():
            return f"[{' '.join(map(compact, node.items))}]"
        case SearchValue():
            return f'"{node.value}"' if node.quoted else f"={node.value}"
    raise AssertionError(node)


LEXING = [
    # quotes
    ('subject:"Pump: (a), [b] C"', 'subject:"Pump: (a), [b] C"'),
    ('subject:"a\\" b', 'subject:"a\\" =b'),
    ('"two words"three', '"two words" =three'),
    ('one"two words"', '=one "two words"'),
    ('subject:""', 'subject:""'),
    ("it's 'a b'", "=it's ='a =b'"),
    ('"a OR b"', '"a OR b"'),
    # white space
    ("  \t\r\n ", ""),
    ("\n status:open\tpump\r\n", "status:=open =pump"),
    ("a\u00a0b", "=a\u00a0b"),
    # operators are capitals between white space with operands on both sides
    ("a or b", "=a =or =b"),
    ("a and b NOT c", "=a =and =b !=c"),
    ("OR a", "=OR =a"),
    ("a AND", "=a =AND"),
    ("AND", "=AND"),
    (" OR ", "=OR"),
    ("a (OR b) (c AND)", "=a and(=OR =b) and(=c =AND)"),
    ("(a)OR(b)", "and(=a) =OR and(=b)"),
    ("state:OR x", "state:=OR =x"),
    # brackets count inside words too
    ("a(b)c", "=a and(=b) =c"),
    ("(a)(b)", "and(=a) and(=b)"),
    ("install(x)", "=install and(=x)"),
    ("all(x) !all(y)", "=all and(=x) !=all and(=y)"),
    ("group:Depot(x)", "group:=Depot and(=x)"),
    ("() a (()) !()", "=a"),
    # fields
    ("status: open", "status:=open"),
    ("status:\n(open)", "status:and(=open)"),
    ("status :open", "=status =:open"),
    ("a-b:c é:d", "=a-b:c =é:d"),
    ("-status:open", "status:!=open"),
    ("custom_4:x a.b_C9:y", "custom_4:=x a.b_C9:=y"),
    ("10:30", "10:=30"),
    ("http://x.example", "http:=//x.example"),
    ("text:red boat", "text:=red =boat"),
    ("a:x-y:z", "a:=x-y:z"),
    ('a:"b":c', 'a:"b" =:c'),
    ('"a"b:c', '"a" b:=c'),
    ("{{x}} 100%", "={{x}} =100%"),
    # lists
    ('f:[x,y z,"p, q"]', 'f:[=x =y =z "p, q"]'),
    ("f:[a [b c] [[d]]]", "f:[=a =b =c =d]"),
    ('f:[,a,, "" ,]', 'f:[=a ""]'),
    ("f:[a:b !c OR d]", "f:[=a:b =!c =OR =d]"),
    ("f: [a]", "f:[=a]"),
    ("f:[]g:[]", "f:[] g:[]"),
    ("[a,b] c", "=a =b =c"),
    ("x [Support #ABC-1]", "=x =Support =#ABC-1"),
    # negation
    ("status:!open", "status:!=open"),
    ("status: !open", "status:!=open"),
    ("status:! open", "status:!=open"),
    ('status:!"open"', 'status:!"open"'),
    ("status:![c,d]", "status:![=c =d]"),
    ("id:!=7", "id:=!=7"),
    ("id:!>7", "id:!=>7"),
    ("subject:!!x", "subject:!=!x"),
    ("org:!(a)", "org:!and(=a)"),
    ("org:! (a)", "org:!and(=a)"),
    ("links.task:all(a b)", "links.task:alland(=a =b)"),
    ("links.task:!all(a)", "links.task:!alland(=a)"),
    ("status:all (x)", "status:=all and(=x)"),
    ("! a", "=! =a"),
    ("a !", "=a =!"),
    ("help !!!", "=help =!!!"),
    ("!word !a-b:c", "!=word !=a-b:c"),
    ('!"a b" ! "c"', '!"a b" =! "c"'),
    # the negation of other search languages
    ("-word", "!=word"),
    ("a -word", "=a !=word"),
    ("a -b-c", "=a !=b-c"),
    ("(-a b)", "and(!=a =b)"),
    ('-"a b"', '!"a b"'),
    ("-(a b)", "!and(=a =b)"),
    ("-a:[b,c]", "a:![=b =c]"),
    ("-a:(b)", "a:!and(=b)"),
    ("-a:!b", "a:=b"),
    ("a:-5 sort:-b", "a:=-5"),
    ("a: -5", "a:=-5"),
    ("a - b", "=a =- =b"),
    ("--force -- -", "=--force =-- =-"),
    ("well-known a -", "=well-known =a =-"),
    ('"a"-b', '"a" =-b'),
    ("NOT word", "!=word"),
    ("a NOT word b", "=a !=word =b"),
    ("a AND NOT word", "=a !=word"),
    ('NOT "a b"', '!"a b"'),
    ('NOT"a b"', '!"a b"'),
    ("NOT (a b)", "!and(=a =b)"),
    ("NOT(a b)", "!and(=a =b)"),
    ("NOT !(a b)", "and(=a =b)"),
    ("NOT !word", "=word"),
    ("NOT -word", "=NOT !=word"),
    ("NOT a:b c", "a:!=b =c"),
    ("NOT a:!b", "a:=b"),
    ("a:NOT b", "a:=NOT =b"),
    ("a NOT", "=a =NOT"),
    ("(a NOT)", "and(=a =NOT)"),
    ("NOT", "=NOT"),
    ("NOTE not", "=NOTE =not"),
    # a comparison with a quoted text
    ('size:>"1 MB"', "size:=>1 MB"),
    ('size:>="1 MB" a', "size:=>=1 MB =a"),
    ('a:!="x y"', "a:=!=x y"),
    ('>"1 MB"', '=> "1 MB"'),
    ("!(a b)", "!and(=a =b)"),
]

STRUCTURE = [
    ("a:1 b:2", "and(a:=1 b:=2)"),
    ("a:1 OR b:2", "or(a:=1 b:=2)"),
    ("a:1 b:2 OR c:3", "or(a:=1 b:=2 c:=3)"),
    ("a:1 OR b:2 AND c:3", "or(a:=1 and(b:=2 c:=3))"),
    ("a:1 AND b:2 OR c:3", "or(and(a:=1 b:=2) c:=3)"),
    ("a:1 AND b:2 OR c:3 d:4", "or(and(a:=1 b:=2) c:=3 d:=4)"),
    ("a:1 AND b:2 OR c:3 AND d:4", "or(and(a:=1 b:=2) and(c:=3 d:=4))"),
    ("a:1 AND b:2 c:3", "and(a:=1 b:=2 c:=3)"),
    ("a:1 (b:2 OR c:3)", "and(a:=1 or(b:=2 c:=3))"),
    ("red boat OR c:3", "or(and(=red =boat) c:=3)"),
    ("red !boat OR c:3 blue", "or(and(=red !=boat) c:=3 =blue)"),
    ("red boat AND a:1 OR c:3", "or(and(=red =boat a:=1) c:=3)"),
    ("red OR boat", "or(=red =boat)"),
    ("red OR NOT boat", "or(=red !=boat)"),
    ("red OR -a:1", "or(=red a:!=1)"),
    ("a OR OR b", "or(=a and(=OR =b))"),
    ("a AND OR b", "and(=a =OR =b)"),
    ("a:1 OR b:2 AND", "or(a:=1 b:=2 =AND)"),
    ("a:1 OR ()", "and(a:=1)"),
    ("a:1 OR () b:2", "or(a:=1 b:=2)"),
    ("!(a OR b) AND org:!(c OR d)", "and(!or(=a =b) org:!or(=c =d))"),
    ("(status:open group.id:1) OR (status:closed)", "or(and(status:=open group.id:=1) and(status:=closed))"),
    ("status:open AND group.id:1 OR group.id:2", "or(and(status:=open group.id:=1) group.id:=2)"),
    ("status:open group.id:1 OR group.id:2", "or(status:=open group.id:=1 group.id:=2)"),
    ("owner.id:me OR owner.id:none", "or(owner.id:=me owner.id:=none)"),
    # control terms are removed without a trace
    ("sort:x OR a:1 b:2", "and(a:=1 b:=2)"),
    ("a:1 OR sort:x b:2", "or(a:=1 b:=2)"),
    ("a:1 sort:x OR b:2", "or(a:=1 b:=2)"),
    ("a:1 OR sort:x", "and(a:=1)"),
    ("org:(a:1 sort:x limit:zzz)", "and(org:and(a:=1))"),
    ("(sort:x page:2)", "and()"),
]

# The rows of the table from query to meaning, as far as their trees differ.
MEANING = [
    ("", ""),
    ("status:OPEN", "status:=OPEN"),
    ("status:[o,w]", "status:[=o =w]"),
    ("status:open,waiting", "status:=open,waiting"),
    ("status:(open)", "status:and(=open)"),
    ("NOT status:open", "status:!=open"),
    ("status.id:2", "status.id:=2"),
    ("subject:pump*", "subject:=pump*"),
    ('subject:"*pump leak*"', 'subject:"*pump leak*"'),
    ("subject:!pump*", "subject:!=pump*"),
    ('subject:["Pump leak","Lamp, red"]', 'subject:["Pump leak" "Lamp, red"]'),
    ("subject:[pump*,lamp*]", "subject:[=pump* =lamp*]"),
    ("subject:pump leak", "subject:=pump =leak"),
    ("subject:(pump leak)", "subject:and(=pump =leak)"),
    ("subject:100%", "subject:=100%"),
    ("mask:[QTR-48213-657,BDM-11111-222]", "mask:[=QTR-48213-657 =BDM-11111-222]"),
    ("id:![7,8]", "id:![=7 =8]"),
    ("id:>50 id:<=60", "id:=>50 id:=<=60"),
    ("id:5...9", "id:=5...9"),
    ('id:"5 to 9"', 'id:"5 to 9"'),
    ("id:!7", "id:!=7"),
    ("id:7,8", "id:=7,8"),
    ("id:[]", "id:[]"),
    ('importance:"> 40"', 'importance:"> 40"'),
    ('group:(name:"Depot")', 'group:and(name:"Depot")'),
    ("group:!(name:D*)", "group:!and(name:=D*)"),
    ("group:(depot OR stock)", "group:or(=depot =stock)"),
    ("bucket:(name:Inbox group:(name:Sales))", "bucket:and(name:=Inbox group:and(name:=Sales))"),
    ("owner.id:[me,none]", "owner.id:[=me =none]"),
    ('created:"-1 week"', 'created:"-1 week"'),
    ("created:>2026-11-16", "created:=>2026-11-16"),
    (
        'created:(since:"-1 week" until:now days:weekdays times:9a-5p)',
        'created:and(since:"-1 week" until:=now days:=weekdays times:=9a-5p)',
    ),
    ("created:(days:mon,wed)", "created:and(days:=mon,wed)"),
    ("messages.first:(sender:(email:ana*))", "messages.first:and(sender:and(email:=ana*))"),
    ("org:null", "org:=null"),
    ("status:open (group.id:1 OR group.id:2)", "status:=open or(group.id:=1 group.id:=2)"),
    ("!(status:open OR group.id:2)", "!or(status:=open group.id:=2)"),
    ("status:open or status:closed", "status:=open =or status:=closed"),
    ("pump leak", "=pump =leak"),
    ('text:("pump leak" warranty)', 'text:and("pump leak" =warranty)'),
    ("text:!(pump)", "text:!and(=pump)"),
    ("text:pum*", "text:=pum*"),
    ('size:>200kb sort:-size mimetype:"image/png"', 'size:=>200kb mimetype:"image/png"'),
    ('header.messageId:"<a@b>"', 'header.messageId:"<a@b>"'),
    ("on:ticket author.worker:(id:3)", "on:=ticket author.worker:and(id:=3)"),
    ("type:D context:svc.contexts.ticket", "type:=D context:=svc.contexts.ticket"),
]


@pytest.mark.parametrize(("q", "tree"), LEXING + MEANING)
def test_text_becomes_this_tree(q: str, tree: str) -> None:
    assert compact(parse(q)) == f"and({tree})"


@pytest.mark.parametrize(("q", "tree"), STRUCTURE)
def test_operators_group_like_this(q: str, tree: str) -> None:
    assert compact(parse(q)) == tree


BROKEN = [
    # operators of other search languages
    ("a || b", 2),
    ("a NEAR/5 b", 2),
    ("pump^2", 0),
    ("a pump~", 2),
    ("pump~2", 0),
    ("a pu?p", 2),
    ("/pu.p/", 0),
    ("a -[b]", 3),
    # missing value
    ("status:", 0),
    ("pump status:  ", 5),
    ("status:!", 0),
    ("a:b:c", 0),
    ("created:10:30", 0),
    ("org:(status:)", 5),
    ("a: OR b:1", 0),
    ("sort:", 0),
    # misplaced negation
    ("!status:open", 0),
    ("pump !a.b: 5", 5),
    ("x ![a,b]", 2),
    # a comparison operator at the end
    ("importance:> 40", 11),
    ("id:>=", 3),
    ("id:!= 7", 3),
    ("id:!> 7", 4),
    ('size:> "1 MB"', 5),
    ("id:!!(a)", 4),
    # brackets and quotes
    ("(a", 0),
    ("a (b (c)", 2),
    ("org:(name:x", 4),
    ("org:!all(name:x", 4),
    ("a)", 1),
    ("(a)) b", 3),
    ("id:[1,2", 3),
    ("id:[1,[2]", 3),
    ("id:[1,[2", 6),
    ("a ]", 2),
    ("id:[1]]", 6),
    ("(id:[1)]", 6),
    ("[(a])", 1),
    ("id:[a(b)]", 5),
    ('say "hi', 4),
    ('a:"b" "', 6),
    ('f:["a, b]', 3),
    # control terms
    ("limit:x", 6),
    ("a limit:-5", 8),
    ("limit:!5", 7),
    ("page:[1]", 5),
    ("page:(1)", 5),
    ("limit:٣", 6),
    ("set.timezone:!UTC", 14),
    ("sort:(a)", 5),
    ("sort:!a", 6),
    ("sort:name,-", 10),
    ('sort:"name a;b"', 11),
    # limits
    ("(" * (MAX_DEPTH + 1) + "a" + ")" * (MAX_DEPTH + 1), MAX_DEPTH),
    ("o:(" * (MAX_DEPTH + 1) + "a" + ")" * (MAX_DEPTH + 1), MAX_DEPTH * 3 + 2),
    ("a " * (MAX_TERMS + 1), MAX_TERMS * 2),
    ("o:(a) " * (MAX_TERMS // 2) + "last:1", MAX_TERMS // 2 * 6),
    ("x" * (MAX_QUERY_CHARS + 1), MAX_QUERY_CHARS),
    ("(" * MAX_QUERY_CHARS, MAX_DEPTH),
    ("[" * MAX_QUERY_CHARS, MAX_QUERY_CHARS - 1),
]


@pytest.mark.parametrize(("q", "position"), BROKEN)
def test_broken_text_is_refused_with_its_position(q: str, position: int) -> None:
    with pytest.raises(BadQuery) as caught:
        parse(q)
    assert caught.value.details["position"] == position


@pytest.mark.parametrize(
    "q",
    [
        "(" * MAX_DEPTH + "a" + ")" * MAX_DEPTH,
        "a " * MAX_TERMS,
        "x" * MAX_QUERY_CHARS,
        "()" * (MAX_QUERY_CHARS // 2),
        f"id:[{'1,' * 4000}]",
    ],
)
def test_text_at_a_limit_is_accepted(q: str) -> None:
    assert isinstance(parse(q), Query)


def test_positions_count_in_the_whole_text() -> None:
    query = parse('pump org:!all( name:!"Larch" [x] ) !y')
    pump, org, not_y = query.root.children
    assert isinstance(pump, BareWord) and isinstance(org, Term) and isinstance(not_y, BareWord)
    assert (pump.position, org.position, org.value_position, not_y.position, not_y.text.position) == (0, 5, 10, 35, 36)
    assert isinstance(org.value, Subquery)
    name, x = org.value.root.children
    assert isinstance(name, Term) and isinstance(x, BareWord)
    assert (name.position, name.value_position, x.position) == (15, 21, 30)


@pytest.mark.parametrize(
    ("q", "sort"),
    [
        ("sort:-importance,created", (("importance", True, 5), ("created", False, 17))),
        ("sort:+name", (("name", False, 5),)),
        ("sort:[a,-b]", (("a", False, 6), ("b", True, 8))),
        ('sort:"a, -b.c"', (("a", False, 6), ("b.c", True, 9))),
        ("sort:a _sort:b", (("b", False, 13),)),
        ('sort:a sort:""', ()),
        ("org:(sort:a)", ()),
    ],
)
def test_sort_names_are_read_in_order(q: str, sort: tuple[tuple[str, bool, int], ...]) -> None:
    assert parse(q).sort == tuple(Sort(*one) for one in sort)


@pytest.mark.parametrize(
    ("q", "limit", "page"),
    [
        ("", None, None),
        ("limit:5 page:2", 5, 2),
        ("limit:0 page:0", 1, 1),
        ("limit:251 page:2002", 250, 2001),
        (f"_limit:{'9' * 8000}", 250, None),
        ("_page:007", None, 7),
        ('limit:"5" limit:6', 6, None),
        ("(limit:5) org:(page:2)", None, None),
        ("subtotal:status _subtotal:(x)", None, None),
    ],
)
def test_limit_and_page_are_clamped(q: str, limit: int | None, page: int | None) -> None:
    query = parse(q)
    assert (query.limit, query.page) == (limit, page)


def test_time_zone_is_one_word_with_its_position() -> None:
    query = parse("set.timezone:America/New_York created:today")
    assert query.timezone == SearchValue("America/New_York", False, 13)
    assert compact(query) == "and(created:=today)"


def test_control_terms_are_removed_from_the_outermost_group_only_when_asked() -> None:
    group = parse_group("of:task page:2 query:(status:o limit:3 sort:-id)")
    assert [term.field for term in group.controls] == ["page"]
    inner = group.children[1]
    assert isinstance(inner, Term) and isinstance(inner.value, Subquery)
    query = query_of(inner.value.root)
    assert (compact(query), query.limit, query.sort) == ("and(status:=o)", 3, (Sort("id", True, 44),))


def test_same_text_gives_the_same_tree_again() -> None:
    assert parse("status:open  again") is parse("status:open  again")
    long = "word " * (MAX_CACHED_CHARS // 5 + 1)
    assert parse(long) == parse(long) and parse(long) is not parse(long)


def test_trees_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        parse("a:1").root.op = "or"  # type: ignore[misc]


WORDS = """a b: status: OR AND or ! !! !( ( ) [ ] " "x" , : . * sort: limit: page:3 5...9 > >5 all( !all( % {{ }}"""
PIECES = [*WORDS.split(), "é", "\u0660", "\ud800", "\x00", "\\", " ", "  ", "\n", "\t", "\u00a0"]


def test_only_bad_query_leaves_for_random_tokens() -> None:
    chance = random.Random(20261120)
    outcomes = {True: 0, False: 0}
    for _ in range(6000):
        q = "".join(chance.choices(PIECES, k=chance.randrange(1, 25)))
        try:
            parse_group(q)
            parse(q)
        except BadQuery as error:
            position = error.details["position"]
            assert isinstance(position, int) and 0 <= position <= len(q), q
            outcomes[False] += 1
        else:
            outcomes[True] += 1
    assert min(outcomes.values()) > 300


@pytest.mark.parametrize(
    "piece", ["a ", "a OR ", "(", "()", "o:(", "! ", '"', '""', "f:[", "[[", "a:", "!", "x,", "f:[,] "]
)
def test_steps_grow_with_the_length_only(piece: str) -> None:
    counts = [steps(parse_group, piece * n, BadQuery) for n in (40, 80, 160)]
    assert counts[1] <= 2.6 * counts[0] and counts[2] <= 2.6 * counts[1]


@pytest.mark.parametrize("piece", ["a", "!", "a.", ":", "x:", " ", ",", '"'])
def test_no_token_is_looked_at_twice(piece: str) -> None:
    """A run without a delimiter is one token, and a run of delimiters is skipped in one step."""
    q = f"f:[{piece * 2000}" if piece in " ," else piece * 2000
    try:
        assert len(query_tokens.tokens(q)) <= 2000
    except BadQuery as error:
        assert error.details["position"] in (2, 2000 * len(piece) - 1)


# --- texts of values


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (">5", (">", "5")),
        (">=5", (">=", "5")),
        ("<5", ("<", "5")),
        ("<=5", ("<=", "5")),
        ("!=5", ("!=", "5")),
        ("=5", ("=", "5")),
        ("5", ("=", "5")),
        (" > 1 hour ", (">", "1 hour")),
        ("", ("=", "")),
        ("!5", ("=", "!5")),
        (">\n5", (">", "5")),
    ],
)
def test_comparison_is_split(text: str, parts: tuple[str, str]) -> None:
    assert values.split_comparison(text) == parts


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("5...9", ("5", "9")),
        ("5 to 9", ("5", "9")),
        ("big bang TO -3 days", ("big bang", "-3 days")),
        ("1 hour ... 2 hours", ("1 hour", "2 hours")),
        ("1...2...3", ("1", "2...3")),
        ("tomorrow", None),
        ("5...", None),
        ("...5", None),
        (" to 9", None),
        ("5..9", None),
    ],
)
def test_range_is_split(text: str, ends: tuple[str, str] | None) -> None:
    assert values.split_range(text) == ends


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("7", 7),
        ("7b", 7),
        ("200kb", 200_000),
        ("1 K", 1000),
        ("2M", 2_000_000),
        ("1.5MB", 1_500_000),
        ("1.5 MiB", 1_572_864),
        ("3gb", 3_000_000_000),
        ("1TiB", 1024**4),
        ("0.0001kb", 0),
        ("1t", 10**12),
    ],
)
def test_size_is_read_in_bytes(text: str, size: int) -> None:
    assert values.size_bytes(text) == size


@pytest.mark.parametrize(
    "text", ["", "kb", "-1", "1xb", "1..5mb", "1.", "٣", "9" * 19 + "tb", "1e3", "1,5mb", "9" * 5000]
)
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        values.size_bytes(text)


@pytest.mark.parametrize("text", ["y", "YES", "true", "1", "on", " y "])
def test_these_words_mean_yes(text: str) -> None:
    assert values.boolean(text) is True


@pytest.mark.parametrize("text", ["n", "No", "false", "0", "off"])
def test_these_words_mean_no(text: str) -> None:
    assert values.boolean(text) is False


@pytest.mark.parametrize("text", ["", "definitely", "null", "2", "yn"])
def test_other_words_mean_neither_yes_nor_no(text: str) -> None:
    with pytest.raises(Invalid):
        values.boolean(text)


@pytest.mark.parametrize(
    ("text", "number"), [("0", 0), ("007", 7), ("-5", -5), (str(2**63 - 1), 2**63 - 1), (str(-(2**63)), -(2**63))]
)
def test_whole_numbers_are_read(text: str, number: int) -> None:
    assert values.integer(text) == number


@pytest.mark.parametrize(
    "text", ["", "+5", " 5", "5 ", "5\n", "1e0", "1.0", "٣", "0x1", "1_0", "--1", str(2**63), "9" * 9000]
)
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        values.integer(text)


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("pump*", "pump%"),
        ("*a*b*", "%a%b%"),
        ("100%", "100\\%"),
        ("a_b", "a\\_b"),
        ("c:\\x", "c:\\\\x"),
        ("\\*", "\\\\%"),
    ],
)
def test_only_the_star_is_a_wildcard(text: str, pattern: str) -> None:
    assert values.like_pattern(text) == pattern
    assert values.is_wildcard(text) is ("*" in text)


def test_another_escape_character_can_be_chosen() -> None:
    assert values.like_pattern("a!b%\\*", escape="!") == "a!!b!%\\%"
