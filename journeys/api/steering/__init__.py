"""Journeys and calls are steered while they run: held, resumed, closed, activated, aborted, cancelled."""
