"""SQLite through apsw: the durable truth. Functions over a connection; no threads, no policy.

All SQL of the program is here. Functions that change rows expect the caller's transaction
(``BEGIN IMMEDIATE``) and leave committing to it, unless they say that they run their own.
"""
