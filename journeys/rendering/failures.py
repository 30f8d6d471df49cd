"""Why a template is none, or could not be rendered. No reason quotes a value."""


class InvalidTemplate(Exception):
    """Why a text is no template: a sentence that goes on after the name of its place."""


class RenderingFailed(Exception):
    """Why a template gave no text: `reason` is a sentence that goes on after a colon."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
