"""The paper's figure of errors as the data grow."""
