"""The calls: a folder for those about triggers and jobs, one for enrollments, one for reported events.

In each: views.py (translate in, one domain call, translate out), serializers.py (in), answers.py (out), and for the
OpenAPI document schema.py and examples.py.
"""
