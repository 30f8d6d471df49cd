"""What definitions name that is not in them: the variables of a workspace."""

from typing import ClassVar

from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Now

from engage.database.object_ids import ObjectIdField
from engage.models import Workspace


class Variable(models.Model):
    """A value that templates read as `vars.<name>`; no secret."""

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, db_index=False)
    name = models.CharField(
        max_length=100,
        validators=[RegexValidator(r"\A[A-Za-z_][A-Za-z0-9_]*\Z", "Use letters, digits and _; begin with no digit.")],
    )
    value = models.JSONField(help_text='A text such as "Garden", or other JSON. No secret: everybody reads it.')
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        # Serves walkers, who read all of a workspace.
        constraints: ClassVar = [models.UniqueConstraint(fields=["workspace", "name"], name="variable_name")]

    def __str__(self) -> str:
        return self.name
