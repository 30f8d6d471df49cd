from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("customers", "0016_watched")]

    operations = [
        migrations.AlterField(
            model_name="alias", name="user_id", field=models.CharField(blank=True, max_length=255, null=True)
        ),
        migrations.AddField(
            model_name="alias", name="external_id", field=models.CharField(blank=True, max_length=255, null=True)
        ),
        migrations.AddField(
            model_name="alias", name="email", field=models.CharField(blank=True, max_length=254, null=True)
        ),
        migrations.AddField(
            model_name="alias", name="phone", field=models.CharField(blank=True, max_length=64, null=True)
        ),
    ]
