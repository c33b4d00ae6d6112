"""Addresses of contact forms for administrators: where visitors open a form, and a preview of one that is off, or whose
brand is not public."""

from server.context import Context
from server.digits import whole_in
from server.help_center import contact_forms
from server.help_center.contact_forms import PublicForm
from server.help_center.form_tokens import KEY
from server.record_types.shared import brands
from server.record_types.shared.brands import BrandProfile
from server.records import records
from server.records.signed_names import is_signed, signed, signing_key

PREVIEW_SECONDS = 3600
PARAMETER = "preview"


def brand_of(ctx: Context, brand_id: int) -> BrandProfile | None:
    """Returns a brand, None if it was deleted."""
    return ctx.service.store.read(lambda tx: brands.brand_with_id(tx, brand_id))


def form_address(ctx: Context, form_id: int) -> str:
    """Returns the address of a form, in the language that it is written in; "" if its brand was deleted."""
    form = records.retrieve(ctx, "contact_form", form_id)
    brand = brand_of(ctx, form["brand_id"])
    if brand is None:
        return ""
    language = form["language"] if form["language"] in brand.languages else brand.languages[0]
    prefix = brands.language_prefix(brand, language)
    return f"{brands.address(ctx.service, brand)}{prefix}{contact_forms.form_path(form['slug'])}"


def preview_address(ctx: Context, form_id: int) -> str:
    """Returns the address of a preview, which works for an hour, also while the form is off or its brand is not
    public."""
    code = signed(signing_key(ctx.service, KEY), f"preview.{form_id}.{ctx.now + PREVIEW_SECONDS}")
    return f"{form_address(ctx, form_id)}?{PARAMETER}={code}"


def previewed_form(ctx: Context, brand: BrandProfile, code: str) -> PublicForm | None:
    """Returns the form of a preview, None if its code is wrong or has expired."""
    name = code.rpartition("-")[0]
    parts = name.split(".")
    if len(code) > 100 or len(parts) != 3 or not code.isascii() or parts[0] != "preview":
        return None
    id, until = whole_in(parts[1], 1, 2**63 - 1), whole_in(parts[2], ctx.now, ctx.now + PREVIEW_SECONDS)
    if id is None or until is None or not is_signed(signing_key(ctx.service, KEY), name, code):
        return None
    form = contact_forms.form_by_id(ctx.service, id, also_off=True)
    return form if form is not None and form.brand_id == brand.id else None
