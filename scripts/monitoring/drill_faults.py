"""What `./dev drill` chooses from: what it is in a sentence, and the generator that makes it and takes it back.

Several have the same alert: who is on call has to find out which of them it is.
"""

import os
import pathlib
import signal
import socket
import subprocess
import time

import faults
from site_under_watch import Background, wait_until


def server_killed(site, _):
    site.server.kill()
    site.server.wait()
    site.server = None
    yield
    site.start()


def server_frozen(site, _):
    site.server.send_signal(signal.SIGSTOP)
    yield
    site.server.send_signal(signal.SIGCONT)


def setting_mistyped(site, _):
    """Somebody changed a setting and restarted the server."""
    path = pathlib.Path(site.settings_file)
    before = path.read_text(encoding="utf-8")
    site.stop()
    path.write_text(before + "PAYMENT_MAX_AMOUNT=1.000,00\n", encoding="utf-8")
    site.start(expect_ready=False)
    yield
    site.stop()
    path.write_text(before, encoding="utf-8")
    site.start()


def newer_schema(site, _):
    """A newer program has migrated, and the old one was restarted."""
    site.stop()
    site.sql("INSERT INTO schema_migrations (version, name, checksum) "
             "SELECT 9999, 'of_a_newer_program', checksum FROM schema_migrations LIMIT 1")
    site.start(expect_ready=False)
    yield
    site.stop()
    site.sql("DELETE FROM schema_migrations WHERE version = 9999")
    site.start()


def database_frozen(site, _):
    """PostgreSQL takes connections and says nothing."""
    postmaster = int(pathlib.Path(os.environ["MONITOR_DATABASE_DATA"], "postmaster.pid").read_text().split()[0])
    site.admin_sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'merchant'")
    os.kill(postmaster, signal.SIGSTOP)
    yield
    os.kill(postmaster, signal.SIGCONT)


def connections_taken(site, _):
    """Another program takes every connection that PostgreSQL has, and those that become free."""
    address = site.settings["DATABASE_URL"].rsplit("/", 1)[0] + "/postgres?application_name=monthly_report"
    held = []

    def hold_more():
        for session in [one for one in held if one.poll() is not None]:
            held.remove(session)
            session.stdin.close()
        if len(held) < 200:
            held.append(subprocess.Popen([site.psql, "--no-psqlrc", "--quiet", address], stdin=subprocess.PIPE,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    # One that has its place before the others, and makes room for them.
    keeper = subprocess.Popen([site.psql, "--no-psqlrc", "--quiet", address], stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    held.append(keeper)
    with Background(hold_more, pause=0.02):
        time.sleep(3)
        keeper.stdin.write(b"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'merchant';\n")
        keeper.stdin.flush()
        yield
    for session in held:
        session.kill()
        session.wait()


def payments_locked(site, _):
    """Somebody changes the table by hand and does not commit."""
    holder = site.sql("BEGIN; LOCK TABLE payments IN ACCESS EXCLUSIVE MODE", keep=True)
    with Background(lambda: site.all_at_once(
            80, lambda: site.ask("GET", "/v1/payment-intents", timeout=20)), pause=0):
        yield
        site.release(holder)


def belvo_unreachable(site, _):
    """Nobody listens where Belvo was."""
    os.kill(int(os.environ["MONITOR_SANDBOX"]), signal.SIGSTOP)
    with Background(lambda: site.all_at_once(6, site.ask_belvo), pause=0.1):
        yield
        os.kill(int(os.environ["MONITOR_SANDBOX"]), signal.SIGCONT)


def content_forbidden(site, _):
    """Belvo's firewall answers with its own page."""
    site.fault("forbidden_page")
    for _ in range(4):
        site.ask_belvo()
    with Background(site.ask_belvo, pause=0.5):
        yield
    site.no_faults()


def shop_refuses(site, _):
    """The shop's receiver answers every event with 401."""
    site.shop.status = 401
    site.pay()
    site.pass_time(1_200)
    yield
    site.shop.status = 200
    site.pass_time(3_600)


def account_blocked(site, _):
    """The shop's own account takes nothing."""
    with Background(lambda: site.pay("fail", code="beneficiary_account_blocked"), pause=0):
        yield


def many_connections(site, _):
    """One client opens connection after connection and says nothing."""
    process = str(site.server.pid)
    limits = pathlib.Path(f"/proc/{process}/limits").read_text(encoding="utf-8")
    before = next(line.split()[3:5] for line in limits.splitlines() if line.startswith("Max open files"))
    subprocess.run(["prlimit", "--pid", process, f"--nofile=160:{before[1]}"], check=True)
    host, port = site.merchant_url.removeprefix("http://").split(":")
    held = []

    def hold():
        del held[:-220]
        try:
            connection = socket.create_connection((host, int(port)), timeout=2, source_address=("127.0.0.9", 0))
            # A request that does not end, now and then a byte of it.
            connection.sendall(b"GET /livez HTTP/1.1\r\nHost: a\r\nX: ")
            held.append(connection)
        except OSError:
            time.sleep(0.2)

    with Background(hold, pause=0.01):
        yield
    for connection in held:
        connection.close()
    subprocess.run(["prlimit", "--pid", process, f"--nofile={before[0]}:{before[1]}"], check=True)


def paid_after_given_up(site, monitoring):
    yield from faults.money_alarm(site, monitoring)


def killed_again_and_again(site, monitoring):
    """The kernel kills the server, and its keeper starts it again."""
    started = 'process_start_time_seconds{job="merchant"}'
    for _ in range(3):
        before = monitoring.value(started)
        site.server.kill()
        site.server.wait()
        site.start()
        wait_until("a scrape of the new process", lambda: monitoring.value(started) not in (None, before))
    yield


DRILLS = {
    "server_killed": ("the server was killed and nobody started it again", server_killed),
    "server_frozen": ("the server's process is stopped (SIGSTOP)", server_frozen),
    "setting_mistyped": ("the server was restarted with `PAYMENT_MAX_AMOUNT=1.000,00`", setting_mistyped),
    "newer_schema": ("a newer program has migrated the database; the old one was restarted", newer_schema),
    "killed_again_and_again": ("the server was killed with -9 three times", killed_again_and_again),
    "database_closed": ("`ALTER DATABASE merchant ALLOW_CONNECTIONS false`", faults.database_away),
    "database_frozen": ("PostgreSQL's first process is stopped (SIGSTOP)", database_frozen),
    "connections_taken": ("another program, `monthly_report`, has all connections to PostgreSQL", connections_taken),
    "customers_locked": ("a session holds `LOCK TABLE customers IN SHARE MODE`", faults.database_busy),
    "payments_locked": ("a session holds `LOCK TABLE payments IN ACCESS EXCLUSIVE MODE`", payments_locked),
    "row_locked": ("a transaction holds the row of one payment", faults.records_overdue),
    "belvo_401": ("Belvo answers everything with 401", faults.belvo_refuses_credentials),
    "content_forbidden": ("Belvo's firewall answers everything with a page, 403", content_forbidden),
    "belvo_503": ("Belvo answers everything with 503", faults.belvo_away),
    "belvo_unreachable": ("Belvo takes connections and answers nothing", belvo_unreachable),
    "belvo_one_call": ("Belvo fails at one call, the creation of widget tokens, with 500", faults.server_errors),
    "belvo_slow": ("Belvo takes 5.4 s for one call, the creation of widget tokens", faults.slow_belvo),
    "belvo_throttles": ("Belvo answers with 429", faults.belvo_throttles),
    "redirect_not_taken": ("Belvo answers `complete_redirection` with 429", faults.redirects_wait),
    "shop_down": ("nobody listens at `SHOP_WEBHOOK_URL`", faults.shop_not_told),
    "shop_refuses": ("the shop answers events with 401", shop_refuses),
    "paid_after_given_up": ("a payment that its user gave up was paid at Belvo", paid_after_given_up),
    "in_doubt": ("one payment was signed, and Belvo does not say how it ended", faults.payments_in_doubt),
    "one_bank_down": ("a bank fails payments with `institution_infra_failed`", faults.payments_fail),
    "account_blocked": ("payments fail with `beneficiary_account_blocked`", account_blocked),
    "enrollments_fail": ("a bank fails enrollments with `INSTITUTION_INFRA_FAILED`", faults.enrollments_fail),
    "scanner": ("a scanner asks for /wp-admin without a token", faults.strangers_refused),
    "many_connections": ("one client (127.0.0.9) holds half-sent requests until descriptors run out", many_connections),
    "slow_readers": ("a client asks and does not read what it gets", faults.slow_readers),
}
