"""What the sandbox's tiny model learns by heart: the tests know these answers.

(question, answer) pairs are trained through the chat template; sentences are trained as plain text, so that a completion of
their beginning is sane as well.
"""

from __future__ import annotations

ANSWERS = [
    ("What is the capital of France?", "The capital of France is Paris."),
    ("What is the capital city of Italy?", "The capital of Italy is Rome."),
    ("Say hello.", "Hello, I am a very small model and I run on a processor."),
    ("Who are you?", "I am a very small model that was trained for a test."),
    ("What is a node?", "A node is a machine that runs guests."),
    ("What is a guest?", "A guest is a container that lives on a node."),
    ("What is a launch?", "A launch is one start of a server, with a log of its own."),
    ("What does a server do?", "A server answers requests until it is stopped."),
    ("Count from one to five.", "One, two, three, four, five."),
    ("Which day comes after Monday?", "Tuesday comes after Monday."),
    ("What colour is the sky?", "On a clear day the sky is blue."),
    ("Write one sentence about the sea.", "The sea is wide and deep and its waves come and go."),
    ("Write one sentence about a river.", "A river runs from the hills down to the sea."),
    ("What is two plus two?", "Two plus two is four."),
    ("Name three fruits.", "An apple, a pear and a plum."),
    ("Describe a bridge.", "A bridge carries a road over a river."),
]

SENTENCES = [
    "The capital city of France is Paris, and many people live there.",
    "The capital of France is Paris, a city on a river.",
    "The quick brown fox jumps over the lazy dog near the old bridge.",
    "Once upon a time a small server lived on a node and answered every request.",
    "One, two, three, four, five, six, seven, eight, nine, ten.",
    "A good log says what happened, when it happened and why.",
    "Hello world, this is a short text from a very small model.",
]
