"""Messages, for servers."""

from http import HTTPStatus

from rest_framework.request import Request
from rest_framework.response import Response

from bridge.messages import answers, schema
from bridge.messages.authoring import delete_message, message_with_key, messages_after, save_message
from bridge.messages.serializers import read_message, read_messages_query
from engage.http.envelope import success
from engage.http.views import WorkspaceView


class _MessagesCall(WorkspaceView):
    policy = "messages"


class MessagesView(_MessagesCall):
    """`/api/v1/messages/{workspaceId}`"""

    @schema.describe_list
    def get(self, request: Request, workspace_id: str) -> Response:
        after, limit = read_messages_query(request.query_params)
        found = messages_after(workspace_id=workspace_id, key=after, limit=limit + 1)
        return success(answers.LISTED_MESSAGE, answers.messages_page(found, limit=limit))


class MessageView(_MessagesCall):
    """`/api/v1/messages/{workspaceId}/{key}`"""

    @schema.describe_put
    def put(self, request: Request, workspace_id: str, key: str) -> Response:
        saved = save_message(workspace_id=workspace_id, key=key, **read_message(request.data))
        record = answers.message_record(saved.message)
        if saved.created:
            return success(answers.CREATED_MESSAGE, record, status=HTTPStatus.CREATED)
        return success(answers.UPDATED_MESSAGE, record)

    @schema.describe_read
    def get(self, request: Request, workspace_id: str, key: str) -> Response:
        message = message_with_key(workspace_id=workspace_id, key=key)
        return success(answers.FOUND_MESSAGE, answers.message_record(message))

    @schema.describe_delete
    def delete(self, request: Request, workspace_id: str, key: str) -> Response:
        delete_message(workspace_id=workspace_id, key=key)
        return success(answers.DELETED_MESSAGE, answers.MessageDeleted(key=key, deleted=True))
