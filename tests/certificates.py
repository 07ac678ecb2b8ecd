"""Servers with certificates that nobody should accept, and what is said of each."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

HERE = "127.0.0.1"
REFUSED = {
    "expired": "its certificate has expired",
    "not valid yet": "its certificate is not valid yet: compare the clocks",
    "another name": "its certificate is for another address",
    "unknown issuer": (
        "the issuer of its certificate is not known here, or the server does not send the certificates between"
    ),
    "self-signed": "its certificate is self-signed",
}


def certified(authority: trustme.CA, folder: Path, kind: str = "") -> ssl.SSLContext:
    """What a server at this address speaks TLS with: a certificate of the authority, unless another kind is wanted."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    now, day = datetime.now(UTC), timedelta(days=1)
    begins, ends = {"expired": (now - 9 * day, now - day), "not valid yet": (now + day, now + 9 * day)}.get(
        kind, (now - day, now + 9 * day)
    )
    if kind == "self-signed":
        context.load_cert_chain(*self_signed(folder))
        return context
    issuer = trustme.CA() if kind == "unknown issuer" else authority
    name = "mail.example.org" if kind == "another name" else HERE
    issuer.issue_cert(name, not_before=begins, not_after=ends).configure_cert(context)
    return context


def self_signed(folder: Path) -> tuple[Path, Path]:
    """The files of a certificate that nobody else signed, and of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HERE)])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    now = datetime.now(UTC)
    made = made.serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=9))
    signed = made.sign(key, hashes.SHA256())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    (folder / "certificate.pem").write_bytes(signed.public_bytes(Encoding.PEM))
    (folder / "key.pem").write_bytes(private)
    return folder / "certificate.pem", folder / "key.pem"
