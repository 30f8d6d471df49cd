"""What staff may save: authoring.py, the one way to save a journey, with fields.py, conditions.py, warnings.py and
past_moments.py; asked.py, what authors are asked for beside the steps; connections.py, the one for connections;
drafts.py, what is edited before it is saved so, and starters.py, what an author may begin with; keeping.py and
opening.py, what else is done with a journey; listening.py, which of them listen to an event.
"""
