"""Paths below /api/v1/customers/. Ids are plain strings, so that a malformed one is answered like an unknown one."""

from django.urls import path

from customers.views import CustomerBatchView, CustomerExportView, CustomersView, CustomerView, SegmentMembersView

urlpatterns = [
    path("<str:workspace_id>", CustomersView.as_view()),
    path("<str:workspace_id>/batch", CustomerBatchView.as_view()),
    path("<str:workspace_id>/<str:customer_id>", CustomerView.as_view()),
    path("<str:workspace_id>/<str:customer_id>/export", CustomerExportView.as_view()),
    path("<str:workspace_id>/segments/<str:segment_id>/members", SegmentMembersView.as_view()),
]
