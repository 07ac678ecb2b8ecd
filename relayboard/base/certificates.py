"""Why a secure connection to somebody failed, by kind: what helps is different for each."""

import ssl

REASONS = {
    9: "its certificate is not valid yet: compare the clocks",
    10: "its certificate has expired",
    18: "its certificate is self-signed",
    19: "its certificate is self-signed, or its issuer is not trusted here",
    20: "the issuer of its certificate is not known here, or the server does not send the certificates between",
    21: "the issuer of its certificate is not known here, or the server does not send the certificates between",
    23: "its certificate was revoked",
    62: "its certificate is for another name",
    64: "its certificate is for another address",
}
"""By the numbers of OpenSSL (X509_V_ERR_...)."""


def explain_tls(error: BaseException) -> str | None:
    """What was wrong with a secure connection; None for other errors. Clients wrap them several times."""
    seen: set[int] = set()
    waiting: list[object] = [error]
    while waiting:
        each = waiting.pop()
        if not isinstance(each, BaseException) or id(each) in seen:
            continue
        if isinstance(each, ssl.SSLError):
            return _reason_of(each)
        seen.add(id(each))
        waiting += [*each.args, getattr(each, "reason", None), each.__cause__, each.__context__]
    return None


def _reason_of(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError) or "CERTIFICATE_VERIFY_FAILED" in str(error):
        message = str(getattr(error, "verify_message", "") or "no reason is known")[:100]
        return REASONS.get(int(getattr(error, "verify_code", 0))) or f"its certificate cannot be verified ({message})"
    return "it does not speak TLS as expected"
