"""Enrollments whose steps could not be walked, and that were given up."""

from django.db.models import BooleanField
from django.db.models.expressions import RawSQL

from journeys.failures import GIVEN_UP

# Their index is only for this. It is written out: of a parameter a plan that is kept knows nothing.
GAVE_UP = RawSQL(f"journeys_enrollment.exit_reason::text LIKE '{GIVEN_UP}%%'", (), output_field=BooleanField())  # noqa: S611
