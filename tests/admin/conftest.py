"""Staff: one who may do everything, and one who may only look."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client


@pytest.fixture
def staff(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.fixture
def onlooker(db: None) -> Client:
    """May view every record and change none."""
    user = User.objects.create_user("onlooker", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    client = Client()
    client.force_login(user)
    return client
