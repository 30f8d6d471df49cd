"""The models that have pages in the admin, the addresses of these pages, and what stands on them."""

import re
from html import unescape

from django.apps import apps
from django.contrib import admin
from django.db.models import Model
from django.test import Client
from django.utils.html import strip_tags

from engage.admin.parts.columns import page_url
from engage.admin.parts.records import ReadOnlyAdmin, RecordAdmin
from journeys.models import WebhookDelivery

admin.autodiscover()
MODELS = [
    model
    for model in apps.get_models()
    if admin.site.is_registered(model)
    and isinstance(admin.site.get_model_admin(model), RecordAdmin)
    # Its list counts and is of failures alone (test_failures.py), and its page is its enrollment's.
    and model is not WebhookDelivery
]
# What the form of an app says of messages and identities, unless it is changed.
NO_CHECKS = {"message_policy": "open", "identity": "off", "anonymous": "allow", "in_app": "verified"}
# What the form of a key says, unless it is limited.
ALL_SCOPES = {"scopes": "all"}
READ_ONLY = [model for model in MODELS if isinstance(admin.site.get_model_admin(model), ReadOnlyAdmin)]


def named(model: type[Model]) -> str:
    """The model's name, for the names of tests."""
    return model.__name__


def cells(page: str, column: str) -> list[str]:
    """The texts of one column of a list, from top to bottom."""
    found = re.findall(rf'<t[hd] class="field-{column} [^>]*>(.*?)</t[hd]>', page, re.DOTALL)
    return [strip_tags(cell).strip() for cell in found]


def list_of(model: type[Model]) -> str:
    """The address of the model's list."""
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/"


def section(client: Client, record: Model, name: str) -> str:
    """The text of a section of the page; "" if it is not there."""
    page = client.get(page_url(record)).content.decode()
    found = re.search(rf'<section [^>]*id="{name}">(.*?)</section>', page, re.DOTALL)
    return re.sub(r"\s+", " ", unescape(strip_tags(found[1]))) if found else ""
