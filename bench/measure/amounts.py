"""How much ./dev bench measures."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Amounts:
    """How much is measured: in all a few minutes, in rounds so short that both sides of a ratio see one machine."""

    livez_connections: int = 64
    livez_rounds: int = 5
    creation_users: int = 32
    creation_rounds: int = 5
    payment_users: tuple[int, ...] = (8, 32, 128)
    payment_rounds: int = 3
    payment_poll_ms: int = 100
    starts: int = 10
    warm_up_seconds: float = 2
    round_seconds: int = 2
    idle_seconds: float = 3
    waiting_apps: int = 10_000
    waiting_users: int = 50
    waiting_changes: int = 200
    polling_pending: tuple[int, ...] = (10, 1_000, 10_000)
    polling_finished: int = 1_000_000
    polling_rounds: int = 3
    polling_seconds: int = 20
    polling_warm_up_seconds: float = 10
    webhook_connections: int = 8
    webhook_rounds: int = 5
    webhook_seconds: int = 4

    @staticmethod
    def least() -> "Amounts":
        """So little that it only shows whether everything works."""
        return Amounts(
            livez_rounds=1, creation_rounds=1, payment_users=(4,), payment_rounds=1, starts=1, warm_up_seconds=0.5,
            round_seconds=1, idle_seconds=0.5, waiting_apps=50, waiting_users=5, waiting_changes=5,
            polling_pending=(10, 50), polling_finished=1_000, polling_rounds=1, polling_seconds=3,
            polling_warm_up_seconds=2, webhook_rounds=1, webhook_seconds=1)
