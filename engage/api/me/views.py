"""A key's view of itself."""

from rest_framework.request import Request
from rest_framework.response import Response

from engage.api.me import answers, schema
from engage.http.envelope import success
from engage.http.views import LookupView
from engage.models import ApiKey


class MeView(LookupView):
    """`GET /api/v1/me`"""

    @schema.describe_me
    def get(self, request: Request) -> Response:
        key = ApiKey.objects.select_related("workspace").get(id=self.api_key.id)
        return success(answers.ME_MESSAGE, answers.me_data(key))
