"""What DNS says of the domains that mail comes from: whether other servers will trust it, and where answers to it
arrive. Follows RFC 7208, RFC 7489."""

from collections.abc import Sequence

from server.context import Context
from server.dataclass import dataclass
from server.errors import Invalid, Unavailable
from server.mailroom import dkim, mail_setup
from server.outbound import dns
from server.outbox.signing import signing_domains

MAX_DOMAINS = 10  # looked at, since each takes some seconds where no name server answers
MAX_SHOWN_CHARS = 300  # of an entry
SPF, DMARC = "v=spf1", "v=dmarc1"
DKIM = "DKIM"
UNSIGNED = "mail from it is not signed here: make a key under Signing, unless your mail server signs"


@dataclass(frozen=True)
class Hint:
    """What one kind of entry says of a domain. found: the entry, "" for none. advice: what to do, "" where all is well.
    is_choice: whether all may be well without it, too."""

    domain: str
    kind: str
    found: str
    advice: str = ""
    is_choice: bool = False


def domains(ctx: Context) -> list[str]:
    """The domains of the sender addresses, that of the default one first, at most MAX_DOMAINS. Raises AdminOnly."""
    found = dict.fromkeys(each.email.rpartition("@")[2].lower() for each in mail_setup.senders(ctx))
    return list(found)[:MAX_DOMAINS]


def of_senders(ctx: Context, servers: Sequence[dns.Server] | None = None) -> list[Hint]:
    """The hints for all of them. Asks name servers: those of this machine when no others are told. Raises AdminOnly,
    Unavailable when none answers."""
    keys = {each.domain: each for each in dkim.list_keys(ctx) if each.is_used}
    found: list[Hint] = []
    for domain in domains(ctx):
        found += of_domain(domain, servers)
        key = next((keys[each] for each in signing_domains(domain) if each in keys), None)
        found.append(_dkim(domain, key, servers) if key else Hint(domain, DKIM, "", UNSIGNED, is_choice=True))
    return found


def of_domain(domain: str, servers: Sequence[dns.Server] | None = None) -> list[Hint]:
    """The hints for one domain. Raises Unavailable when no name server answers."""
    if "." not in domain:
        return [
            Hint(
                domain,
                "name",
                "",
                "it is a name of this machine alone, and others refuse mail from it: set a "
                "sender address of a domain of yours",
            )
        ]
    try:
        texts, policies = _texts(domain, servers), _texts(f"_dmarc.{domain}", servers)
        exchanges = [str(each["target"]) for each in dns.records(domain, "mx", servers)]
    except Invalid as error:
        return [Hint(domain, "name", "", error.message)]
    return [_spf(domain, texts), _dmarc(domain, policies), _mx(domain, exchanges)]


def _texts(name: str, servers: Sequence[dns.Server] | None) -> list[str]:
    try:
        return [str(each["txt"]) for each in dns.records(name, "txt", servers)]
    except Unavailable:
        raise Unavailable("no name server answers from here, so nothing can be told of DNS") from None


def _spf(domain: str, texts: list[str]) -> Hint:
    """Which servers may send in the name of a domain."""
    found = [each for each in texts if each.lower().partition(" ")[0] == SPF]
    if not found:
        return Hint(
            domain,
            "SPF",
            "",
            f"add a TXT entry at {domain} that names the servers your mail leaves by, such "
            f"as {SPF} include:provider.example -all",
        )
    if len(found) > 1:
        return Hint(domain, "SPF", _cut(" | ".join(found)), "several are taken for a mistake: make one of them")
    is_open = found[0].lower().split()[-1] in ("+all", "all")
    return Hint(
        domain, "SPF", _cut(found[0]), "it lets every server send in your name: end it with -all" if is_open else ""
    )


def _dmarc(domain: str, texts: list[str]) -> Hint:
    """What others do with mail that is not from the servers of a domain."""
    found = [each for each in texts if each.lower().replace(" ", "").startswith(DMARC)]
    if not found:
        return Hint(domain, "DMARC", "", f"add a TXT entry at _dmarc.{domain}, such as v=DMARC1; p=none")
    return Hint(domain, "DMARC", _cut(found[0]), "several are taken for none: keep one" if len(found) > 1 else "")


def _dkim(domain: str, key: dkim.DkimKey, servers: Sequence[dns.Server] | None) -> Hint:
    """Whether others can read the signatures that mail gets here."""
    is_there = dkim.is_published(key, servers)
    return Hint(
        domain,
        DKIM,
        key.name if is_there else "",
        ""
        if is_there
        else f"mail is signed with {key.selector}, and DNS does not show that key: add its entry again, or stop it",
    )


def _mx(domain: str, exchanges: list[str]) -> Hint:
    """Where mail to a domain arrives."""
    if not exchanges:
        return Hint(domain, "MX", "", "answers to it arrive nowhere: add an entry for the server that takes them")
    return Hint(domain, "MX", _cut(", ".join(sorted(exchanges))))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "…"
