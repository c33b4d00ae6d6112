"""The contexts by which rows, links, dictionaries and privileges name record types. Only exceptions are listed here;
the context of any other type follows from its uri."""

PREFIX = "svc.contexts."

ADDRESS = "svc.contexts.address"
APP = "svc.contexts.app"
ASSET = "svc.contexts.asset"
AUTOMATION = "svc.contexts.automation"
AUTOMATION_EVENT = "svc.contexts.automation.event"
AUTOMATION_RESOURCE = "svc.contexts.automation.resource"
AUTOMATION_TIMER = "svc.contexts.automation.timer"
BEHAVIOR = "svc.contexts.behavior"
BEHAVIOR_NODE = "svc.contexts.behavior.node"
BOT = "svc.contexts.bot"
CALENDAR = "svc.contexts.calendar"
CALENDAR_EVENT = "svc.contexts.calendar_event"
CALENDAR_EVENT_RECURRING = "svc.contexts.calendar_event.recurring"
CALL = "svc.contexts.call"
COMMENT = "svc.contexts.comment"
CONTACT = "svc.contexts.contact"
CURRENCY = "svc.contexts.currency"
CUSTOM_FIELD = "svc.contexts.custom_field"
DRAFT = "svc.contexts.mail.draft"
EMAIL_SIGNATURE = "svc.contexts.email.signature"
FILE_BUNDLE = "svc.contexts.file_bundle"
GPG_PRIVATE_KEY = "svc.contexts.gpg.private.key"
GROUP = "svc.contexts.group"
HTML_TEMPLATE = "svc.contexts.mail.html_template"
MAILBOX = "svc.contexts.mailbox"
MAIL_TRANSPORT = "svc.contexts.mail.transport"
MESSAGE = "svc.contexts.message"
OAUTH_APP = "svc.contexts.oauth.app"
OPPORTUNITY = "svc.contexts.opportunity"
ORG = "svc.contexts.org"
PACKAGE = "svc.contexts.package.library"
PROJECT_BOARD = "svc.contexts.project.board"
PROJECT_BOARD_COLUMN = "svc.contexts.project.board.column"
RATING = "svc.contexts.rating"
REMINDER = "svc.contexts.reminder"
RESOURCE = "svc.contexts.resource"
ROLE = "svc.contexts.role"
SAVED_SEARCH = "svc.contexts.context.saved.search"
SNIPPET = "svc.contexts.snippet"
TASK = "svc.contexts.task"
TICKET = "svc.contexts.ticket"
TIMETRACKING_ACTIVITY = "svc.contexts.timetracking.activity"
TIME_ENTRY = "svc.contexts.timetracking"
WEBHOOK_LISTENER = "svc.contexts.webhook_listener"
WORKER = "svc.contexts.worker"
WORKSPACE_LIST = "svc.contexts.workspace.list"
WORKSPACE_PAGE = "svc.contexts.workspace.page"
WORKSPACE_TAB = "svc.contexts.workspace.tab"
WORKSPACE_WIDGET = "svc.contexts.workspace.widget"


def context_of(uri: str) -> str:
    """Returns the default context of a type.

    >>> context_of("task")
    'svc.contexts.task'
    """
    return PREFIX + uri


def short_context(context: str) -> str:
    """Returns the short form of a context, as people write it.

    >>> short_context("svc.contexts.workspace.tab"), short_context("task")
    ('workspace.tab', 'task')
    """
    return context.removeprefix(PREFIX)
