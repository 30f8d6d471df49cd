"""*Send*: page.py triggers a journey by hand, by form.py."""
