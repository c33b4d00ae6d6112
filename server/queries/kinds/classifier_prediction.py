"""`classifier.prediction`: requires classifiers, which this program does not have."""

from server.queries.query_type import QueryKey
from server.queries.unsupported import UnsupportedQuery


class ClassifierPrediction(UnsupportedQuery):
    """Always raises BadDataQuery."""

    name = "classifier.prediction"
    description = "How a classifier classifies a text."
    keys = (
        QueryKey("classifier", "query", "A search for the classifier.", required=True),
        QueryKey("text", "text", "The text to classify.", required=True),
    )
