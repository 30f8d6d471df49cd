"""What a key is: `GET /api/v1/me`, from its address (urls.py) to its answer (answers.py)."""
