"""Replies as mail programs write them: the customer wrote `Thank you.`, and `Old words` are quoted. All of them were
written for these tests, with the elements, names and lines of the program."""

DESK = "Desk &lt;<a href='mailto:support@desk.example'>support@desk.example</a>&gt;"
STYLE = "border:none;border-top:solid {color} 1.0pt;padding:3.0pt 0cm 0cm 0cm"


def _word_reply(head: str, color: str = "#E1E1E1") -> str:
    """A reply of Outlook for Windows."""
    return (
        "<html xmlns:o='urn:schemas-microsoft-com:office:office'><head><style>p.MsoNormal {margin:0cm}</style></head>"
        "<body lang=EN-US><div class=WordSection1><p class=MsoNormal>Thank you.<o:p></o:p></p>"
        "<p class=MsoNormal><o:p>&nbsp;</o:p></p><div><div style='" + STYLE.format(color=color) + f"'>"
        f"<p class=MsoNormal>{head}<o:p></o:p></p></div></div><p class=MsoNormal><o:p>&nbsp;</o:p></p>"
        "<p class=MsoNormal>Old words<o:p></o:p></p></div></body></html>"
    )


def _head(*names: str) -> str:
    values = (DESK, "Monday, 23 November 2026 10:00", "Ana Lund &lt;ana@kite.example&gt;", "Pump")
    return "<br>".join(f"<b>{name}</b> {value}" for name, value in zip(names, values, strict=False))


def _outlook_web(head: str) -> str:
    return (
        "<html><body dir='ltr'><div style='font-family: Aptos'>Thank you.</div><div id='appendonsend'></div>"
        "<hr style='display:inline-block;width:98%' tabindex='-1'><div id='divRplyFwdMsg' dir='ltr'>"
        f"<font face='Calibri, sans-serif' style='font-size:11pt' color='#000000'>{head}</font><div>&nbsp;</div></div>"
        "<div>Old words</div></body></html>"
    )


def _gmail(line: str, quote: str = "gmail_quote") -> str:
    return (
        f"<div dir='ltr'>Thank you.</div><br><div class='gmail_quote gmail_quote_container'>"
        f"<div dir='ltr' class='gmail_attr'>{line}<br></div><blockquote class='{quote}' "
        "style='margin:0px 0px 0px 0.8ex;border-left:1px solid rgb(204,204,204);padding-left:1ex'>"
        "<div dir='ltr'>Old words</div></blockquote></div>"
    )


def _cite(line: str) -> str:
    """A reply of Thunderbird."""
    return (
        f"<html><body><p>Thank you.</p><div class='moz-cite-prefix'>{line}<br></div>"
        "<blockquote type='cite' cite='mid:1@desk.example'><p>Old words</p></blockquote></body></html>"
    )


def _apple(line: str, more: str = "") -> str:
    return (
        f"<html><body style='overflow-wrap: break-word;'>Thank you.{more}<br "
        "id='lineBreakAtBeginningOfMessage'><div><br>"
        f"<blockquote type='cite'><div>{line}</div><br class='Apple-interchange-newline'><div>Old words</div>"
        "</blockquote></div><br></body></html>"
    )


HTML = {
    "outlook for windows": _word_reply(_head("From:", "Sent:", "To:", "Subject:")),
    "outlook for windows, german, older": _word_reply(_head("Von:", "Gesendet:", "An:", "Betreff:"), "#B5C4DF"),
    "outlook for windows, french": _word_reply(_head("De&nbsp;:", "Envoyé&nbsp;:", "À&nbsp;:", "Objet&nbsp;:")),
    "outlook for windows, spanish": _word_reply(_head("De:", "Enviado el:", "Para:", "Asunto:")),
    "outlook for windows, polish": _word_reply(_head("Od:", "Wysłano:", "Do:", "Temat:")),
    "outlook for mac": _word_reply(_head("From:", "Date:", "To:", "Subject:"), "#B5C4DF"),
    "outlook on the web": _outlook_web(_head("From:", "Sent:", "To:", "Subject:")),
    "outlook on the web, italian": _outlook_web(_head("Da:", "Inviato:", "A:", "Oggetto:")),
    "outlook on the web, dutch": _outlook_web(_head("Van:", "Verzonden:", "Aan:", "Onderwerp:")),
    "outlook on a phone": (
        "<html><body><div dir='auto'>Thank you.</div><div id='ms-outlook-mobile-body-separator-line'><br></div>"
        "<hr style='display:inline-block;width:98%'><div id='divRplyFwdMsg' dir='ltr'><font face='Calibri'>"
        f"{_head('From:', 'Sent:', 'To:', 'Subject:')}</font><div>&nbsp;</div></div><div>Old words</div></body></html>"
    ),
    "hotmail": (
        "<html><body class='hmmessage'><div dir='ltr'>Thank you.<br><br><div><hr "
        "id='stopSpelling'>Date: Mon, 23 Nov 2026 "
        f"10:00<br>Subject: Pump<br>From: {DESK}<br>To: ana@kite.example<br><br>Old words</div></div></body></html>"
    ),
    "gmail": _gmail(f"On Mon, Nov 23, 2026 at 10:00 AM {DESK} wrote:"),
    "gmail, german": _gmail(f"Am Mo., 23. Nov. 2026 um 10:00 Uhr schrieb {DESK}:"),
    "gmail, french": _gmail(f"Le lun. 23 nov. 2026 à 10:00, {DESK} a écrit&nbsp;:"),
    "gmail, japanese": _gmail(f"2026年11月23日(月) 10:00 {DESK}:"),
    "gmail, portuguese": _gmail(f"Em seg., 23 de nov. de 2026 às 10:00, {DESK} escreveu:"),
    "thunderbird": _cite("On 23/11/2026 10:00, Desk wrote:"),
    "thunderbird, danish": _cite("Den 23.11.2026 kl. 10.00 skrev Desk:"),
    "thunderbird, swedish": _cite("Den 2026-11-23 kl. 10:00, skrev Desk:"),
    "apple mail": _apple(f"On 23 Nov 2026, at 10:00, {DESK} wrote:"),
    "apple mail, spanish": _apple(f"El 23 nov 2026, a las 10:00, {DESK} escribió:"),
    "apple mail on a phone": (
        "<html><body dir='auto'>Thank you.<div dir='ltr'><br><blockquote type='cite'>On 23 Nov 2026, at 10:00, "
        f"{DESK} wrote:<br><br></blockquote></div><blockquote type='cite'><div "
        "dir='ltr'>\ufeff<div>Old words</div></div>"
        "</blockquote></body></html>"
    ),
    "yahoo": (
        "<html><body><div class='ydp1yahoo-style-wrap'><div dir='ltr'>Thank you.</div><div><br></div></div>"
        "<div id='yahoo_quoted_1' class='yahoo_quoted'><div style='font-family: "
        "Helvetica'><div>On Monday, November 23, "
        f"2026 at 10:00:00 AM GMT+1, {DESK} wrote: "
        "</div><div><br></div><div><br></div><div><div>Old words</div></div></div>"
        "</div></body></html>"
    ),
    "protonmail": (
        "<div style='font-family: Arial'>Thank you.</div><div class='protonmail_signature_block-empty'></div>"
        f"<div class='protonmail_quote'>On Monday, November 23rd, 2026 at 10:00, {DESK} wrote:<br><br>"
        "<blockquote class='protonmail_quote' type='cite'>Old words</blockquote><br></div>"
    ),
    "protonmail, older": (
        "<div>Thank you.</div><div><br></div><div class='protonmail_quote'>------- Original Message -------<br>"
        f"On Monday, November 23rd, 2026 at 10:00, {DESK} wrote:<br><br><blockquote "
        "type='cite'>Old words</blockquote></div>"
    ),
    "samsung email": (
        "<html><body dir='auto'>Thank you.<div><br></div><div align='left' dir='auto'><div>-------- Original message "
        f"--------</div><div>From: {DESK}</div><div>Date: 23/11/2026 10:00 (GMT+01:00)</div><div>To: ana@kite.example"
        "</div><div>Subject: Pump</div><div><br></div></div>Old words</body></html>"
    ),
    "gmx": (
        "<html><body><div style='font-family: Verdana'><div>Thank you.</div><div>&nbsp;<div name='quote' "
        "style='margin:10px 5px 5px 10px; border-left:2px solid #C3D9E5;'><div style='margin:0 0 10px 0;'>"
        f"<b>Gesendet:</b>&nbsp;Montag, 23. November 2026 um 10:00<br><b>Von:</b>&nbsp;{DESK}<br><b>An:</b>&nbsp;"
        "ana@kite.example<br><b>Betreff:</b>&nbsp;Pump</div><div name='quoted-content'>Old "
        "words</div></div></div></div>"
    ),
    "zoho": (
        "<div>Thank you.</div><div><br></div><div class='zmail_extra'>---- On Mon, 23 Nov 2026 10:00:00 +0100 "
        f"<b>{DESK}</b> wrote ---<br><br><blockquote style='border-left: 1px solid'>Old words</blockquote></div>"
    ),
    "em client": (
        "<html><body><div>Thank you.</div><div><br></div><div id='x1'><div>------ Original Message ------</div><div>"
        "From \"Desk\" &lt;<a href='mailto:support@desk.example'>support@desk.example</a>&gt;</div><div>"
        "To ana@kite.example</div><div>Date 23.11.2026 10:00:00</div><div>Subject Pump</div></div><div><br></div>"
        "<div class='cite2'><blockquote type='cite' class='cite2'>Old words</blockquote></div></body></html>"
    ),
}  # fmt: skip
TEXT = {
    "outlook": "Thank you.\n\nFrom: Desk <support@desk.example>\nSent: Monday\nTo: Ana\nSubject: Pump\n\nOld words",
    "outlook, original message": (
        "Thank you.\n\n-----Original Message-----\nFrom: Desk\nSent: Monday\nTo: Ana\n\nOld "
        "words"
    ),
    "outlook on a phone": (
        "Thank you.\n\nGet Outlook for iOS<https://aka.ms/o0ukef>\n________________________________\nFrom: Desk "
        "<support@desk.example>\nSent: Monday, November 23, 2026 10:00\nTo: Ana\nSubject: Pump\n\nOld words"
    ),
    "apple mail on a phone": (
        "Thank you.\n\nSent from my iPhone\n\n> On 23 Nov 2026, at 10:00, Desk wrote:\n> \n> "
        "Old words"
    ),
    "apple mail on a phone, german": (
        "Thank you.\n\nVon meinem iPhone gesendet\n\n> Am 23.11.2026 um 10:00 schrieb Desk:\n> \n> Old words"
    ),
    "gmail, wrapped": (
        "Thank you.\n\nOn Mon, Nov 23, 2026 at 10:00 AM Desk\n<support@desk.example> wrote:\n\n> Old words"
    ),
    "gmail, dutch, wrapped": (
        "Thank you.\n\nOp ma 23 nov 2026 om 10:00 schreef Desk\n<support@desk.example>:\n\n> "
        "Old words"
    ),
    "gmail, italian": "Thank you.\n\nIl giorno lun 23 nov 2026 alle ore 10:00 Desk ha scritto:\n\n> Old words",
    "yahoo": (
        "Thank you.\n\n    On Monday, November 23, 2026 at 10:00:00 AM GMT+1, Desk\n "
        "<support@desk.example> wrote:  \n \n"
        " Old words"
    ),
    "protonmail": (
        "Thank you.\n\nSent with Proton Mail secure email.\n\n------- Original Message "
        "-------\nOn Monday, November 23rd, "
        "2026 at 10:00, Desk <support@desk.example> wrote:\n\n> Old words"
    ),
    "samsung email": (
        "Thank you.\n\n-------- Original message --------\nFrom: Desk <support@desk.example>\nDate: 23/11/2026 10:00 "
        "(GMT+01:00)\nTo: ana@kite.example\nSubject: Pump\n\nOld words"
    ),
    "gmx": (
        "Thank you.\n\nGesendet: Montag, 23. November 2026 um 10:00\nVon: Desk <support@desk.example>\nAn: Ana\n"
        "Betreff: Pump\n\nOld words"
    ),
    "em client": (
        'Thank you.\n\n------ Original Message ------\nFrom "Desk" <support@desk.example>\nTo ana@kite.example\nDate '
        "23.11.2026 10:00:00\nSubject Pump\n\n>Old words"
    ),
    "japanese": "Thank you.\n\n2026/11/23 10:00、Desk <support@desk.example>のメール：\n\nOld words",
}  # fmt: skip
