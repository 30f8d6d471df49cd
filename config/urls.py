"""All URLs of the service."""

from django.conf import settings
from django.contrib import admin
from django.urls import include, path
from django.utils.module_loading import autodiscover_modules

from bridge.browser.views import sdk_file
from config.docs.documentation import DocumentationView, SchemaView
from config.docs.landing import ElsewhereView, LandingView
from config.local import message_demo
from config.monitoring.health import livez, readyz
from config.monitoring.health_page import health
from config.monitoring.metrics import metrics
from customers.preferences import pages as preferences
from engage.admin.login import break_glass, invitations
from engage.admin.login.second_factor import pages as second_factor
from engage.calls.call import Call
from engage.calls.views import urlpatterns as views_of

admin.autodiscover()
autodiscover_modules("api")  # each registers its calls

urlpatterns = [
    # The most frequently called are matched first.
    *views_of(Call.all(), below="api/v1/"),
    path("sdk/v1/<str:name>", sdk_file),
    path("", LandingView.as_view()),
    path("api/v1/schema", SchemaView.as_view()),
    path("api/v1/docs", DocumentationView.as_view()),
    path("api/v1/docs/", ElsewhereView.as_view(address="/api/v1/docs")),
    *preferences.urlpatterns,
    path("livez", livez),
    path("readyz", readyz),
    path("metrics", metrics),
    path("admin/health/", admin.site.admin_view(health), name="health"),
    path("admin/second-factor/", second_factor.ask, name="second_factor"),
    path("admin/second-factor/set-up/", second_factor.set_up, name="second_factor_set_up"),
    path("admin/break-glass/<str:token>", break_glass.enter, name="break_glass"),
    path("admin/set-password/<str:token>", invitations.set_password, name="set_password"),
    *([path("admin/openid/", include("engage.admin.login.openid.urls"))] if settings.OIDC_ISSUER else []),
    path("admin/", admin.site.urls),
    path("admin", ElsewhereView.as_view(address="/admin/")),
    *message_demo.urlpatterns,
]

handler400 = "engage.admin.error_pages.answer_bad_request"
handler403 = "engage.admin.error_pages.answer_forbidden"
handler404 = "engage.admin.error_pages.answer_not_found"
handler500 = "engage.admin.error_pages.answer_server_error"
