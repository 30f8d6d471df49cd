"""What the calls and pages of several things share.

path_ids.py: the ids in paths, and what these find; times.py: from when until when.
results.py: colours of results and states; content_rights.py: who may see what journeys send; drawings.py: drawings.
"""
