"""The page of an enrollment, and the addresses of what staff may do there."""

from django.test import Client

from engage.admin.parts.columns import page_url
from journeys.models import Enrollment


def page_of(staff: Client, enrollment: Enrollment) -> str:
    return staff.get(page_url(enrollment)).content.decode()


def action(enrollment: Enrollment, *steps: object) -> str:
    return page_url(enrollment).replace("/change/", "/") + "".join(f"{step}/" for step in steps)
