"""What is said about mail servers that cannot be reached, in words that are safe to show."""

import ssl

MAX_ANSWER_CHARACTERS = 500


def reason(error: BaseException) -> str:
    """Why a connection failed, in a few words."""
    # Told by the words as well, since smtplib makes its own exception of a timeout.
    if isinstance(error, TimeoutError) or "timed out" in str(error):
        return "no answer in time"
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__)[:MAX_ANSWER_CHARACTERS]


def wrong_certificate(host: str, error: ssl.SSLCertVerificationError) -> str:
    """What is wrong with a server's certificate."""
    return f"the certificate of {host} is not valid: {error.verify_message}"
