"""Why a template is invalid, or could not be rendered. No reason quotes a value."""


class InvalidTemplate(Exception):
    """Why a text is not a valid template; the message continues a sentence that begins with the place."""


class RenderingFailed(Exception):
    """Why a template could not be rendered: `reason` is a sentence to put after a colon."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
