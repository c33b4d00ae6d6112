"""Settings that administrators change while the service runs, one at a time."""

from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.pages.mailing.mail_overview import LISTENER
from console.pages.setup import BASE as SETUP
from console.pages.upkeep.system import SETTINGS
from server.errors import HelpdeskError, NotFound, nearest
from server.mailroom import mail_listening
from server.records import live_settings
from server.settings import BY_NAME, LIVE, Setting, display_value
from server.translation import _

ELSEWHERE = {
    "base_url": f"{SETUP}/address",
    **dict.fromkeys(mail_listening.NAMES, LISTENER),
}  # settings that have a page where more is looked at


@page("GET", f"{SETTINGS}/{{name}}", "proven admin")
def show(visit: Visit) -> PageResponse:
    """One setting, to be changed."""
    setting = _setting(visit)
    if setting.name in ELSEWHERE:
        return see(ELSEWHERE[setting.name])
    return _form(visit, setting, Form.from_values({setting.name: _value(visit, setting)}))


@page("POST", f"{SETTINGS}/{{name}}", "proven admin")
def save(visit: Visit) -> PageResponse:
    """Change it; it holds at once."""
    setting = _setting(visit)
    form, before = Form.sent(visit.form, (setting.name,)), _value(visit, setting)
    if setting.name in ELSEWHERE:
        return see(ELSEWHERE[setting.name])
    text = form.get(setting.name) if setting.type != "yes/no" else ("yes" if form.get(setting.name) == "1" else "no")
    try:
        live_settings.change(visit.ctx, {setting.name: text})
    except HelpdeskError as error:
        return _form(visit, setting, form.refuse(error))
    visit.flash(_("{name} saved.", name=setting.name), visit.path, **{setting.name: before})
    return see(f"{SETTINGS}?q={setting.name}")


def _setting(visit: Visit) -> Setting:
    name = visit.arguments["name"]
    if name not in LIVE:
        raise NotFound(
            _("'{name}' is not a setting that can be changed here{LIVE}", name=name[:60], LIVE=nearest(name, LIVE))
        )
    return BY_NAME[name]


def _value(visit: Visit, setting: Setting) -> str:
    value = getattr(visit.service.settings, setting.name)
    return ("1" if value else "") if isinstance(value, bool) else display_value(value)


def _form(visit: Visit, setting: Setting, form: Form) -> PageResponse:
    settings = visit.service.settings
    return render(
        visit,
        "setting.html",
        form=form,
        setting=setting,
        default=display_value(setting.default),
        given=settings.sources[setting.name] if settings.is_given(setting.name) else "",
        back=SETTINGS,
    )
