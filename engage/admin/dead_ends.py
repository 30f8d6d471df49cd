"""What is answered where there is no page, or none for who asks: a page for staff in the admin, else JSON."""

from http import HTTPStatus

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from engage import envelope


def answer_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not _is_staff_in_the_admin(request):
        return envelope.answer_not_found(request, exception)
    return _page(request, HTTPStatus.NOT_FOUND, "Not found", "There is nothing at this address.")


def answer_forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not _is_staff_in_the_admin(request):
        return envelope.answer_forbidden(request, exception)
    why = "Your account may not do this. Who manages staff can give it the permission."
    return _page(request, HTTPStatus.FORBIDDEN, "Not allowed", why)


def _is_staff_in_the_admin(request: HttpRequest) -> bool:
    return request.path.startswith(reverse("admin:index")) and admin.site.has_permission(request)


def _page(request: HttpRequest, status: HTTPStatus, title: str, why: str) -> HttpResponse:
    context = {**admin.site.each_context(request), "title": title, "why": why}
    return render(request, "engage/admin/dead_end.html", context, status=status)
