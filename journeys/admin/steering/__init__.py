"""Steering by hand: buttons.py on a journey's page, above keeping.py (archived, duplicated) and how_to_trigger.py;
steered.py: the acts and the hosts.
"""
