"""The recommender: raw records in, decisions out, feedback whenever it comes."""
