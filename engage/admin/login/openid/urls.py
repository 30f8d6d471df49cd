"""The addresses, below admin/; config/urls.py has them only where a provider is set."""

from django.urls import path

from engage.admin.login.openid.pages import begin, callback
from engage.admin.login.openid.provider import CALLBACK

urlpatterns = [
    path("", begin, name="openid"),
    path("callback/", callback, name=CALLBACK),
]
