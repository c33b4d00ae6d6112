"""Kinds of field, one file each, with the filter of each kind."""

from server.fields.field import Field, Intake
from server.fields.flag import Bit
from server.fields.link import ContextName, Id, IdList, IdSetChange
from server.fields.number import Bytes, Float, Number, Seconds, Uint
from server.fields.structure import CustomValues, Fieldsets, Image, References, Structure
from server.fields.text import Listed, Name, Text, Url
from server.fields.time import CreatedAt, Timestamp, TimeText, UpdatedAt
from server.fields.word import Word

__all__ = [
    "Bit", "Bytes", "ContextName", "CreatedAt", "CustomValues", "Field", "Fieldsets", "Float", "Id", "IdList",
    "IdSetChange", "Image", "Intake", "Listed", "Name", "Number", "References", "Seconds", "Structure", "Text",
    "TimeText", "Timestamp", "Uint", "UpdatedAt", "Url", "Word",
]  # fmt: skip
