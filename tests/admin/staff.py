"""Staff of a test's own making."""

from django.contrib.auth.models import Permission, User
from django.test import Client


def staff_with(*permissions: str) -> Client:
    """Staff who may do no more than this."""
    user = User.objects.create_user(" ".join(("support", *permissions)), is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client
