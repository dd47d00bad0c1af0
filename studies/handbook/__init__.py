"""What the documentation site adds to the pages in docs/: generated pages, pictures, formulas.

MkDocs loads `hooks`; everything else is plain functions from our code to text.
"""
