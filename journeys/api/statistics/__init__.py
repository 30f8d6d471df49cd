"""Journeys as a whole: their steps as a graph, and counts of what they do."""
