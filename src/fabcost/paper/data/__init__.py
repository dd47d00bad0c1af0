"""The data of the reproduction: the authors' simulated design and a day of car adverts."""
