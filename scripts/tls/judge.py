"""Holds what testssl.sh and sslyze found against what is wanted, and writes it down as Markdown.

judge.py DIRECTORY ABOUT_THE_RUN

The directory holds testssl.json, sslyze.json, sslyze.log and resumed.txt. Ends with 1 when something is not as wanted:
a promise that is not kept, a finding that is worse than information and not excused by name, or an excuse that excuses
nothing any more.
"""

import json
import pathlib
import re
import sys

# Findings of testssl.sh that say nothing about the server, each with its reason. Every other finding that is worse than
# information fails.
EXCUSES = {
    "engine_problem": "about the grader's own OpenSSL, which has no GOST engine",
    "cert_revocation": "the throw-away authority revokes nothing; a public one puts its address there",
    "DNS_CAArecord": "about the domain's zone, and `localhost` has none",
    "sessionresumption_ticket": "testssl.sh 3.0 often hangs up before TLS 1.3 has sent its tickets; tried with both"
    " versions by `openssl s_client` instead",
}
# Those of them that depend on how quick the machine is at the moment.
FICKLE = {"sessionresumption_ticket"}
HARMLESS = {"OK", "INFO"}
STRONG = re.compile(r"TLS_(ECDHE_(ECDSA|RSA)_WITH_)?(AES_(128|256)_GCM|CHACHA20_POLY1305)_SHA(256|384)")
CURVES = {"X25519", "secp256r1", "prime256v1", "secp384r1"}
OLD = ["ssl_2_0", "ssl_3_0", "tls_1_0", "tls_1_1"]
NEW = ["tls_1_2", "tls_1_3"]
WEAKNESSES = (
    "heartbleed CCS ticketbleed ROBOT CRIME_TLS BREACH POODLE_SSL SWEET32 FREAK DROWN LOGJAM BEAST LUCKY13 RC4"
).split()


class Testssl:
    def __init__(self, path):
        self.all = json.loads(path.read_text())
        self.by_id = {finding["id"]: finding for finding in self.all}

    def text(self, identity):
        return self.by_id[identity]["finding"] if identity in self.by_id else "not looked at"

    def is_ok(self, identity):
        return identity in self.by_id and self.by_id[identity]["severity"] == "OK"

    def ciphers(self):
        return sorted({f["finding"].split()[-1] for f in self.all if f["id"].startswith("cipher_x")})

    def bad(self):
        return [f for f in self.all if f["severity"] not in HARMLESS]


class Sslyze:
    def __init__(self, directory):
        server = json.loads((directory / "sslyze.json").read_text())["server_scan_results"][0]
        self.scans = server["scan_result"]
        self.log = (directory / "sslyze.log").read_text()

    def result(self, scan):
        return self.scans[scan]["result"] or {}

    def accepted(self, versions):
        return sorted(
            suite["cipher_suite"]["name"]
            for version in versions
            for suite in self.result(f"{version}_cipher_suites").get("accepted_cipher_suites", [])
        )

    def incomplete(self):
        return sorted(name for name, scan in self.scans.items() if scan["status"] != "COMPLETED")

    def verdict_of_mozilla(self):
        """The line of the log, and what stands below it if it is a bad one."""
        lines = self.log.partition("COMPLIANCE AGAINST TLS CONFIGURATION")[2].splitlines()
        found = [line.strip() for line in lines if re.search(r"(OK|FAILED|ERROR) - |^\s+\* ", line)]
        return " ".join(re.sub(r"^localhost:\d+: ", "", line) for line in found) or "no verdict"


def promises(testssl, sslyze, resumed):
    """What is wanted, what each grader says of it, and whether it is so."""
    versions = {v: sslyze.result(f"{v}_cipher_suites").get("is_tls_version_supported") for v in OLD + NEW}
    yield (
        "TLS 1.2 and 1.3 and nothing else",
        ", ".join(f"{v} {testssl.text(v)}" for v in ["SSLv2", "SSLv3", "TLS1", "TLS1_1", "TLS1_2", "TLS1_3"]),
        ", ".join(v for v, offered in versions.items() if offered),
        not any(versions[v] for v in OLD)
        and all(versions[v] for v in NEW)
        and all(testssl.text(v) == "not offered" for v in ["SSLv2", "SSLv3", "TLS1", "TLS1_1"])
        and all(testssl.text(v).startswith("offered") for v in ["TLS1_2", "TLS1_3"]),
    )
    seen, accepted = testssl.ciphers(), sslyze.accepted(OLD + NEW)
    yield (
        "authenticated ciphers with forward secrecy and nothing else",
        ", ".join(seen),
        f"{len(accepted)} accepted",
        bool(seen) and bool(accepted) and all(STRONG.fullmatch(name) for name in seen + accepted),
    )
    curves = [curve["name"] for curve in sslyze.result("elliptic_curves").get("supported_curves") or []]
    yield (
        "groups that are quick and strong",
        testssl.text("PFS_ECDHE_curves") + (", " + testssl.text("DH_groups") if "DH_groups" in testssl.by_id else ""),
        ", ".join(curves),
        bool(curves)
        and set(curves) | set(testssl.text("PFS_ECDHE_curves").split()) <= CURVES
        and "DH_groups" not in testssl.by_id,
    )
    yield (
        "the server's order of ciphers, ChaCha20 for who puts it first",
        testssl.text("cipher_order"),
        "",
        testssl.is_ok("cipher_order"),
    )
    tickets = sslyze.result("session_resumption").get("tls_ticket_resumption_result")
    yield (
        "sessions are resumed by tickets",
        f"`openssl s_client`: {', '.join(resumed)}",
        f"TLS 1.2: {tickets}",
        tickets == "FULLY_SUPPORTED" and resumed == ["TLSv1.2 Reused", "TLSv1.3 Reused"],
    )
    compresses = sslyze.result("tls_compression").get("supports_compression")
    yield (
        "no compression",
        testssl.text("CRIME_TLS"),
        str(compresses),
        compresses is False and testssl.is_ok("CRIME_TLS"),
    )
    again = sslyze.result("session_renegotiation")
    yield (
        "no renegotiation by clients, and the indication that there is none by others (RFC 5746)",
        f"{testssl.text('secure_client_renego')}; {testssl.text('secure_renego')}",
        f"{again.get('client_renegotiations_success_count')} succeeded",
        again.get("client_renegotiations_success_count") == 0
        and again.get("is_vulnerable_to_client_renegotiation_dos") is False
        and again.get("supports_secure_renegotiation") is True
        and testssl.is_ok("secure_client_renego"),
    )
    early = sslyze.result("tls_1_3_early_data").get("supports_early_data")
    yield ("no early data, which could be replayed", "", str(early), early is False)
    hsts = sslyze.result("http_headers").get("strict_transport_security_header") or {}
    yield (
        "browsers are told to come by https only",
        testssl.text("HSTS_time"),
        f"max-age {hsts.get('max_age')}",
        testssl.is_ok("HSTS_time") and (hsts.get("max_age") or 0) >= 31_536_000,
    )
    fields = ["X-Content-Type-Options", "Content-Security-Policy", "Referrer-Policy"]
    yield (
        "the page for browsers has the fields that protect it",
        ", ".join(f"{name}: {testssl.text(name)[:24]}" for name in fields),
        "",
        all(testssl.text(name) != "not looked at" for name in fields),
    )
    deployments = sslyze.result("certificate_info").get("certificate_deployments", [])
    trusted = [
        path["was_validation_successful"]
        for deployment in deployments
        for path in deployment["path_validation_results"]
        if path["trust_store"]["name"] == "Supplied CA file"
    ]
    yield (
        "a chain that leads to its authority, and the host's name",
        f"{testssl.text('cert_chain_of_trust')} {testssl.text('cert_trust')}",
        "trusted by the authority" if trusted == [True] else "not trusted",
        trusted == [True] and testssl.is_ok("cert_chain_of_trust") and testssl.is_ok("cert_trust"),
    )
    yield (
        "no downgrade, and the extended master secret",
        testssl.text("fallback_SCSV"),
        f"SCSV {sslyze.result('tls_fallback_scsv').get('supports_fallback_scsv')}, "
        f"EMS {sslyze.result('tls_extended_master_secret').get('supports_ems_extension')}",
        testssl.is_ok("fallback_SCSV")
        and sslyze.result("tls_fallback_scsv").get("supports_fallback_scsv") is True
        and sslyze.result("tls_extended_master_secret").get("supports_ems_extension") is True,
    )
    vulnerable = [name for name in WEAKNESSES if not testssl.is_ok(name)]
    others = {
        "heartbleed": sslyze.result("heartbleed").get("is_vulnerable_to_heartbleed") is False,
        "CCS": sslyze.result("openssl_ccs_injection").get("is_vulnerable_to_ccs_injection") is False,
        "ROBOT": str(sslyze.result("robot").get("robot_result", "")).startswith("NOT_VULNERABLE"),
    }
    yield (
        "none of the known weaknesses",
        ", ".join(vulnerable) or f"none of {len(WEAKNESSES)}",
        ", ".join(name for name, is_well in others.items() if not is_well) or f"none of {len(others)}",
        not vulnerable and all(others.values()),
    )
    mozilla = sslyze.verdict_of_mozilla()
    yield ("as Mozilla recommends for servers (intermediate)", "", mozilla, mozilla.startswith("OK - "))
    incomplete = sslyze.incomplete()
    yield (
        "everything was looked at",
        f"{len(testssl.all)} findings",
        ", ".join(incomplete) or f"{len(sslyze.scans)} scans",
        not incomplete and len(testssl.all) > 60,
    )


def main():
    directory = pathlib.Path(sys.argv[1])
    testssl, sslyze = Testssl(directory / "testssl.json"), Sslyze(directory)
    resumed = (directory / "resumed.txt").read_text().splitlines()
    rows = list(promises(testssl, sslyze, resumed))
    bad = testssl.bad()
    unwanted = [finding for finding in bad if finding["id"] not in EXCUSES]
    stale = sorted(EXCUSES.keys() - FICKLE - {finding["id"] for finding in bad})
    print("# Results of `./dev tls`\n")
    print("Written by `./dev tls`, which has testssl.sh and sslyze look at the server's https anew, with a certificate")
    print("for `localhost` by an authority that is thrown away.\n")
    print(sys.argv[2])
    print("\n| promise | testssl.sh | sslyze | kept |\n|---|---|---|---|")
    for promise, one, other, is_kept in rows:
        print(f"| {promise} | {cell(one)} | {cell(other)} | {'yes' if is_kept else '**no**'} |")
    print("\n## What testssl.sh finds worse than information\n")
    for finding in unwanted:
        print(f"- **{finding['id']}** ({finding['severity']}): {cell(finding['finding'])}")
    for finding in bad:
        if finding["id"] in EXCUSES:
            print(f"- {finding['id']} ({finding['severity']}), excused: {EXCUSES[finding['id']]}")
    for name in stale:
        print(f"- **{name}** is excused and not found any more: take the excuse away")
    print("\nThe stores of well-known authorities that sslyze looks into as well do not know the throw-away one, and")
    print("are not asked.")
    is_well = not unwanted and not stale and all(is_kept for *_, is_kept in rows)
    sys.exit(0 if is_well else 1)


def cell(text):
    return " ".join(text.split()).replace("|", "/")


if __name__ == "__main__":
    main()
