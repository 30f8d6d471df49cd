"""Files that come with a form: nothing here takes any."""

from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler, StopUpload


class NoUploads(FileUploadHandler):
    """Reads a form as far as its first file. Django would keep it on the disk, whoever sent it, however large."""

    def new_file(self, *args: object, **kwargs: object) -> None:
        raise StopUpload(connection_reset=True)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        raise NotImplementedError

    def file_complete(self, file_size: int) -> UploadedFile[bytes] | None:
        raise NotImplementedError
