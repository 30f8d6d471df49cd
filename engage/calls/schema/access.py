"""The authentication schemes in the OpenAPI document."""

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

from engage.calls.schema.shapes import Schema
from engage.http.authentication import ApiKeyAuthentication, AppAuthentication

API_KEY, APP_ID = "apiKey", "appId"


class _ApiKeyExtension(OpenApiAuthenticationExtension):
    target_class = ApiKeyAuthentication
    name = API_KEY

    def get_security_definition(self, auto_schema: AutoSchema) -> Schema:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A workspace's API key, created in the admin. Keep it secret and use it only on servers: a "
            "key that reaches a browser or an app has leaked.",
        }


class _AppIdExtension(OpenApiAuthenticationExtension):
    target_class = AppAuthentication
    name = APP_ID

    def get_security_definition(self, auto_schema: AutoSchema) -> Schema:
        return {
            "type": "apiKey",
            "in": "header",
            "name": "X-App-Id",
            "description": "The id of an app. It is not secret: it identifies the calling app, not the user.",
        }
