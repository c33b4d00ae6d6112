"""Checks the DNS entries of sender domains: whether other servers will trust their mail, and where replies arrive.

Follows RFC 7208, RFC 7489."""

from collections.abc import Sequence

from server.context import Context
from server.dataclass import dataclass
from server.errors import Invalid, Unavailable
from server.mailroom import dkim, mail_setup
from server.outbound import dns
from server.outbox.signing import signing_domains

MAX_DOMAINS = 10  # domains that are checked, since each takes some seconds if no name server responds
MAX_SHOWN_CHARS = 300  # shown of a DNS entry
SPF, DMARC = "v=spf1", "v=dmarc1"
DKIM = "DKIM"
UNSIGNED = "its email is not signed here: create a key under Signing, unless your mail server signs"


@dataclass(frozen=True)
class Hint:
    """The result for one kind of DNS entry. found: the entry, "" for none. advice: what to do, "" if nothing.
    is_choice: whether the entry is optional."""

    domain: str
    kind: str
    found: str
    advice: str = ""
    is_choice: bool = False


def domains(ctx: Context) -> list[str]:
    """The domains of the sender addresses, that of the default one first, at most MAX_DOMAINS. Raises AdminOnly."""
    names = dict.fromkeys(each.email.rpartition("@")[2].lower() for each in mail_setup.senders(ctx))
    return list(names)[:MAX_DOMAINS]


def of_senders(ctx: Context, servers: Sequence[dns.Server] | None = None) -> list[Hint]:
    """The hints for all sender domains. Queries the given name servers, by default those of this machine. Raises
    AdminOnly, Unavailable if none responds."""
    keys = {each.domain: each for each in dkim.list_keys(ctx) if each.is_used}
    hints: list[Hint] = []
    for domain in domains(ctx):
        hints += of_domain(domain, servers)
        key = next((keys[each] for each in signing_domains(domain) if each in keys), None)
        hints.append(_dkim(domain, key, servers) if key else Hint(domain, DKIM, "", UNSIGNED, is_choice=True))
    return hints


def of_domain(domain: str, servers: Sequence[dns.Server] | None = None) -> list[Hint]:
    """The hints for one domain. Raises Unavailable if no name server responds."""
    if "." not in domain:
        return [
            Hint(
                domain,
                "name",
                "",
                "this name exists only on this machine, and other servers refuse email from it: set a "
                "sender address in one of your domains",
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
        raise Unavailable("no name server responds, so DNS cannot be checked") from None


def _spf(domain: str, texts: list[str]) -> Hint:
    """The servers that may send for a domain."""
    entries = [each for each in texts if each.lower().partition(" ")[0] == SPF]
    if not entries:
        return Hint(
            domain,
            "SPF",
            "",
            f"add a TXT entry at {domain} that names the servers that send your email, such as {SPF} "
            f"include:provider.example -all",
        )
    if len(entries) > 1:
        return Hint(
            domain, "SPF", _cut(" | ".join(entries)), "several entries count as an error: combine them into one"
        )
    is_open = entries[0].lower().split()[-1] in ("+all", "all")
    return Hint(
        domain, "SPF", _cut(entries[0]), "it lets every server send in your name: end it with -all" if is_open else ""
    )


def _dmarc(domain: str, texts: list[str]) -> Hint:
    """The policy for mail that does not come from servers of the domain."""
    entries = [each for each in texts if each.lower().replace(" ", "").startswith(DMARC)]
    if not entries:
        return Hint(domain, "DMARC", "", f"add a TXT entry at _dmarc.{domain}, such as v=DMARC1; p=none")
    return Hint(
        domain, "DMARC", _cut(entries[0]), "several entries count as none: keep one" if len(entries) > 1 else ""
    )


def _dkim(domain: str, key: dkim.DkimKey, servers: Sequence[dns.Server] | None) -> Hint:
    """Whether other servers can verify the signatures of this service."""
    is_there = dkim.is_published(key, servers)
    return Hint(
        domain,
        DKIM,
        key.name if is_there else "",
        ""
        if is_there
        else f"email is signed with {key.selector}, but DNS does not have that key: add its entry again, or stop "
        f"signing",
    )


def _mx(domain: str, exchanges: list[str]) -> Hint:
    """The servers that receive mail for a domain."""
    if not exchanges:
        return Hint(domain, "MX", "", "replies to it cannot arrive: add an entry for the server that receives them")
    return Hint(domain, "MX", _cut(", ".join(sorted(exchanges))))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "…"
