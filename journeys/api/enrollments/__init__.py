"""Enrollments as callers see them: their history, a customer's entries, and ending one early."""
