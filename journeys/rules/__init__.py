"""Rules that know no database: who may enter (entry_rules.py), who is held out (hold_out.py), what becomes of work that
fails (failures.py, cut_off.py), and the ids of jobs (job_ids.py).
"""
