"""Answers that are encoded once, and the best of them for a question: see `AnswerIndex`."""
