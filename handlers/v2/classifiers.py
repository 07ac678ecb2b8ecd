"""`/api/v2/classifiers.json`."""

from handlers.answers import ListAnswer
from persistence.classifiers import CLASSIFIERS

list_classifiers = ListAnswer(CLASSIFIERS)
