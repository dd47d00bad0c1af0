"""What client and service share; neither knows the other.

`messages` are the bodies of the native API, with checks that their types cannot make, `settings`
those of a model, `errors` what can go wrong.  Of the files of logs `formats` is the beginning: a
format is a writer of pages and a reader of lines, and `line` has what all of them share.  Whatever
a file holds, it is read in bounded memory, or refused in words.
"""
