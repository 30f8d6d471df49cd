from django.urls import path

from bridge.people.views import IdentifyView

urlpatterns = [path("identify", IdentifyView.as_view())]
