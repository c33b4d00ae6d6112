"""`classifier.prediction`: needs classifiers, which this program does not have. Source: Data queries, Others."""

from server.queries.declared import Key
from server.queries.refused import Refused


class ClassifierPrediction(Refused):
    """Always refused."""

    name = "classifier.prediction"
    description = "What a classifier takes a text for."
    keys = (
        Key("classifier", "query", "A search for the classifier.", required=True),
        Key("text", "text", "The text to classify.", required=True),
    )
