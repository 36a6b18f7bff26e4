"""Settings that every test shares."""

from hypothesis import settings

# The first call of a compiled function takes long, so no example has a deadline; examples are the
# same in every run, and no database of them is kept beside the code.
settings.register_profile("hrprob", deadline=None, derandomize=True, database=None, max_examples=50)
settings.load_profile("hrprob")
