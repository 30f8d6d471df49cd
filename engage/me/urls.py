from django.urls import path

from engage.me.views import MeView

urlpatterns = [path("me", MeView.as_view())]
