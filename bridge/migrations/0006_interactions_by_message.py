"""Interactions are looked up by message, and by what the checks of their app found."""

from django.db import migrations, models

from engage.database.repeatable import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("bridge", "0005_messages"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='interaction',
            index=models.Index(fields=['message_id', 'workspace', '-id'], name='interaction_by_message'),
        ),
        AddIndexConcurrently(
            model_name='interaction',
            index=models.Index(condition=models.Q(('message_problems__isnull', False)), fields=['message_id', 'workspace', '-id'], name='interaction_with_problems'),
        ),
        AddIndexConcurrently(
            model_name='interaction',
            index=models.Index(condition=models.Q(('verified__isnull', False)), fields=['app', '-id'], include=('verified', 'identity_problem'), name='interaction_by_identity'),
        ),
    ]
