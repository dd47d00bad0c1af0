"""Logs of decisions as files: JSON Lines, Parquet, and what Vowpal Wabbit reads.

Start with `formats`: a format is a writer of pages and a reader of lines.  `line` has what all of
them share.  Whatever a file holds, it is read in bounded memory, or refused in words.
"""
