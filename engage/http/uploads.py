"""Refusal of file uploads: no form of the service takes any."""

from django.core.files.uploadhandler import FileUploadHandler, StopUpload


class NoUploads(FileUploadHandler):
    """Stops reading a form at its first file, which Django would otherwise save to disk for any sender at any size."""

    def new_file(self, *args: object, **kwargs: object) -> None:
        raise StopUpload(connection_reset=True)
