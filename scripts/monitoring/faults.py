"""The fault that each alert is for: a generator that makes it, waits, and takes it back."""

import os
import pathlib
import signal
import socket
import subprocess
import time

from site_under_watch import Background, wait_until

DAY = 86_400


def merchant_down(site, _):
    site.stop()
    yield
    site.start()


def merchant_restarts(site, monitoring):
    started = 'process_start_time_seconds{job="merchant"}'
    for _ in range(3):
        before = monitoring.value(started)
        site.stop()
        site.start()
        wait_until("a scrape of the new process", lambda: monitoring.value(started) not in (None, before))
    yield


def event_loop_stuck(site, _):
    def stall():
        os.kill(site.server.pid, signal.SIGSTOP)
        time.sleep(1.8)
        os.kill(site.server.pid, signal.SIGCONT)

    # Not long enough for a scrape to be given up, which would take the figure with it.
    with Background(stall, pause=1.5):
        yield


def descriptors_run_out(site, _):
    process = str(site.server.pid)
    limits = pathlib.Path(f"/proc/{process}/limits").read_text(encoding="utf-8")
    before = next(line.split()[3:5] for line in limits.splitlines() if line.startswith("Max open files"))
    opened = len(os.listdir(f"/proc/{process}/fd"))
    subprocess.run(["prlimit", "--pid", process, f"--nofile={opened + 3}:{before[1]}"], check=True)
    yield
    subprocess.run(["prlimit", "--pid", process, f"--nofile={before[0]}:{before[1]}"], check=True)


def log_lines_left_out(site, _):
    site.fault("status", "create_widget_token", status=500)
    site.all_at_once(16, lambda: [site.ask_belvo() for _ in range(20)])
    site.no_faults()
    yield


def server_errors(site, _):
    site.fault("status", "create_widget_token", status=500)
    with Background(lambda: site.all_at_once(8, site.ask_belvo), pause=0.2):
        yield
    site.no_faults()


def slow_belvo(site, _):
    site.fault("delay_answer", "create_widget_token", milliseconds=5_400)
    with Background(lambda: site.all_at_once(12, site.ask_belvo), pause=0):
        yield
    site.no_faults()


def strangers_refused(site, _):
    site.all_at_once(8, lambda: [site.ask("GET", "/wp-admin", token=False) for _ in range(50)])
    yield


def slow_readers(site, _):
    host, port = site.merchant_url.removeprefix("http://").split(":")
    question = (f"GET /openapi.json HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {site.world['token']}\r\n\r\n")
    readers = []

    def read_nothing():
        reader = socket.socket()
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        reader.connect((host, int(port)))
        reader.settimeout(2)
        readers.append(reader)
        reader.sendall(question.encode() * 100)

    with Background(read_nothing, pause=0.5):
        yield
    for reader in readers:
        reader.close()


def database_away(site, _):
    # It answers, and lets nobody in.
    site.admin_sql("ALTER DATABASE merchant ALLOW_CONNECTIONS false")
    site.admin_sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'merchant'")
    yield
    site.admin_sql("ALTER DATABASE merchant ALLOW_CONNECTIONS true")


def database_busy(site, _):
    # Somebody holds a lock that lets others read only, and has gone for lunch.
    holder = site.sql("BEGIN; LOCK TABLE customers IN SHARE MODE", keep=True)
    with Background(lambda: site.all_at_once(100, site.become_customer), pause=0):
        yield
        site.release(holder)


def belvo_refuses_credentials(site, _):
    site.fault("status", status=401)
    for _ in range(4):
        site.ask_belvo()
    with Background(site.ask_belvo, pause=0.5):
        yield
    site.no_faults()


def belvo_away(site, _):
    site.fault("status", status=503)
    with Background(site.ask_belvo, pause=0.05):
        yield
    site.no_faults()


def belvo_failing(site, _):
    def some_fail():
        site.control("POST", "faults", {"fault": "status", "status": 500, "endpoint": "create_widget_token"})
        for _ in range(4):
            site.ask_belvo()

    with Background(some_fail, pause=0.1):
        yield
    site.no_faults()


def belvo_throttles(site, monitoring):
    site.fault("too_many_requests", retry_after=1)
    silence = "max(merchant_belvo_silence_seconds)"
    with Background(site.ask_belvo, pause=0.3):
        wait_until("a silence", lambda: monitoring.value(silence))
        yield
    site.no_faults()


def records_overdue(site, _):
    payment = site.open_payment()
    holder = site.sql(f"BEGIN; SELECT FROM payments WHERE id = '{payment['id']}' FOR UPDATE", keep=True)
    site.pass_time(3_600)
    yield
    site.release(holder)
    site.wait_for(f"/v1/payment-intents/{payment['id']}", lambda found: found["status"] == "FAILED")


def redirects_wait(site, _):
    enrollment = site.begin_enrollment()
    # What certainly was not taken is kept and tried again; after a 503 only reading the enrollment could tell.
    site.fault("too_many_requests", "complete_redirection", retry_after=5)
    site.ask("POST", "/v1/enrollments/complete-redirection", site.approve(enrollment))
    site.pass_time(300)
    yield
    site.no_faults()
    site.pass_time(600)


def webhooks_wait(site, _):
    payment = site.open_payment()
    site.fault("status", "get_payment_intent", status=503)
    site.tell("PAYMENT_INTENTS", payment)
    site.pass_time(1_200)
    yield
    site.no_faults()
    site.pass_time(3_600)


def shop_not_told(site, _):
    site.shop.stop()
    site.pay()
    site.pass_time(1_200)
    yield
    site.shop.start()
    site.pass_time(3_600)


def events_parked(site, _):
    site.shop.stop()
    site.pay()
    site.pass_time(3 * DAY + 60)
    yield
    site.shop.start()
    for event in site.sql("SELECT id FROM ops.events_undelivered WHERE parked_at IS NOT NULL").split():
        done = site.run_merchant("requeue", event)
        assert done.returncode == 0, done.stderr


def money_alarm(site, _):
    payment = site.open_payment(reference=f"order-{site.keys}")
    site.must("POST", f"/v1/payment-intents/{payment['id']}/cancel", {})
    site.steer("payment-intents", payment, "settle")
    site.tell("PAYMENT_INTENTS", payment)
    yield
    site.sql("UPDATE money_alarms SET settled_at = app_now(), settled_by = 'the check: paid back' "
             "WHERE settled_at IS NULL")


def payments_in_doubt(site, _):
    payment = site.open_payment()
    site.authorize(payment)
    site.pass_time(200)
    yield
    settle(site, payment)


def payment_in_doubt_for_long(site, _):
    payment = site.open_payment()
    site.authorize(payment)
    site.pass_time(200)
    wait_until("a payment in doubt", lambda: site.sql("SELECT count(*) FROM ops.in_doubt") == "1")
    site.pass_time(25 * 3_600)
    yield
    settle(site, payment)


def settle(site, payment):
    site.steer("payment-intents", payment, "settle")
    done = site.run_merchant("requeue", payment["id"])
    assert done.returncode == 0, done.stderr


def payments_fail(site, _):
    def pay():
        site.pay("fail", code="institution_infra_failed")

    with Background(pay, pause=0):
        yield


def enrollments_fail(site, _):
    def enroll():
        enrollment = site.begin_enrollment()
        site.steer("enrollments", enrollment, "fail", code="INSTITUTION_INFRA_FAILED")
        site.tell("ENROLLMENTS", enrollment)

    with Background(enroll, pause=0.5):
        yield


FAULTS = {
    "MerchantDown": merchant_down,
    "MerchantRestarts": merchant_restarts,
    "EventLoopStuck": event_loop_stuck,
    "DescriptorsRunOut": descriptors_run_out,
    "LogLinesLeftOut": log_lines_left_out,
    "ServerErrors": server_errors,
    "RequestsSlow": slow_belvo,
    "StrangersRefused": strangers_refused,
    "SlowReaders": slow_readers,
    "DatabaseAway": database_away,
    "DatabaseBusy": database_busy,
    "BelvoRefusesCredentials": belvo_refuses_credentials,
    "BelvoAway": belvo_away,
    "BelvoFailing": belvo_failing,
    "BelvoSlow": slow_belvo,
    "BelvoThrottles": belvo_throttles,
    "RecordsOverdue": records_overdue,
    "RedirectsWait": redirects_wait,
    "WebhooksWait": webhooks_wait,
    "ShopNotTold": shop_not_told,
    "EventsParked": events_parked,
    "MoneyAlarm": money_alarm,
    "PaymentsInDoubt": payments_in_doubt,
    "PaymentInDoubtForLong": payment_in_doubt_for_long,
    "PaymentsFail": payments_fail,
    "EnrollmentsFail": enrollments_fail,
}
