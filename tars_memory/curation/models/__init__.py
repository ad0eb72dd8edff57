"""Language models: asked within limits, with prompts that are data, and answers read by their numbers alone."""
