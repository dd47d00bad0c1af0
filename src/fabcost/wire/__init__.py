"""What client and service share: messages, settings of models, errors."""
