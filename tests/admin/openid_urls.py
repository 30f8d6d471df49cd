"""All addresses, as where a provider is set."""

from django.urls import include, path

from config import urls

urlpatterns = [path("admin/openid/", include("engage.admin.login.openid.urls")), *urls.urlpatterns]
handler403 = urls.handler403
