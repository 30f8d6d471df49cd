"""A primary that hangs, and a standby that takes its place: what was acknowledged is on both."""

import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from config.local import servers
from config.local.servers import DATABASE, ordinary_user
from tests.chaos.faults import Deed, Fault, fault
from tests.chaos.findings import each_decided_within
from tests.chaos.fleet import LOOPBACK
from tests.chaos.scenario import Chance, Scenario, Trial
from tests.chaos.servers import own_postgresql
from tests.chaos.service import Outage, Service, Standby
from tests.support.waiting import wait_until

_BACK_SECONDS = 10.0
_NOTICED_SECONDS = 4.0  # until somebody has promoted the standby
_FOLLOWS = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"


def with_standby(service: Service) -> None:
    """A standby that every commit waits for; and one process of each kind, which knows both."""
    service.standby = _follow(service)
    hosts = ",".join(f"{LOOPBACK}:{server.port}" for server in (service.postgresql, service.standby.server))
    url = f"postgres://{DATABASE}@{hosts}/{DATABASE}?target_session_attrs=read-write"
    service.start_alone(lambda member: member.start(DATABASE_URL=url))


def _follow(service: Service) -> Standby:
    folder = service.postgresql.data.parent / "standby"
    folder.mkdir()
    server, url = own_postgresql(folder)
    program = Path(servers._postgresql_program("pg_basebackup"))
    options = ["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "-D", str(server.data)]
    subprocess.run([*ordinary_user(), program, "-d", service.database_url, *options], check=True)
    server.start()
    service.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")  # after the copy, which is to wait for nobody
    service.ask("SELECT pg_reload_conf()")
    wait_until(lambda: service.count(_FOLLOWS) == 1, what="the standby")
    return Standby(server=server, url=url, follows=service.database_url)


def fail_over(seconds: float) -> Deed:
    """The primary hangs for good; the standby is promoted after so many seconds."""

    def do(service: Service) -> None:
        began, standby = time.monotonic(), service.standby
        if standby is None:
            raise ValueError("There is no standby.")
        service.postgresql.freeze()
        time.sleep(seconds)
        service.database_url = standby.url
        service.ask("SELECT pg_promote()")
        service.outages.append(Outage(what="postgresql", began=began, ended=time.monotonic() + _BACK_SECONDS))

    return do


def put_back(service: Service) -> None:
    """What the standby holds is the primary's again."""
    standby, service.standby = service.standby, None
    if standby is None:
        return
    service.fleet.kill()
    service.postgresql.kill()
    standby.server.stop(signal.SIGINT)
    shutil.rmtree(service.postgresql.data)
    standby.server.data.rename(service.postgresql.data)
    standby.server.end()
    shutil.rmtree(standby.server.data.parent)
    service.postgresql.start()
    service.database_url = standby.follows
    web = service.fleet["web-2"]  # for who has not read all of the feed
    web.start()
    wait_until(web.answers, what=web.name)


def _failed_over(chance: Chance) -> list[Fault]:
    words = f"the primary frozen, the standby promoted after {_NOTICED_SECONDS:g} s"
    return [fault(chance.uniform(1, 2), words, fail_over(_NOTICED_SECONDS))]


def _some_wait(service: Service, trial: Trial) -> Iterator[str]:
    """Or the fault was none. Who waits is answered once there is a primary again, or 503 after five seconds."""
    if not any(sending.seconds > _NOTICED_SECONDS / 2 for sending in trial.sendings):
        yield "no call had to wait"


FAILOVER = Scenario(
    name="postgresql-failover", load=9, faults=_failed_over, unpooled=True, start=with_standby, afterwards=put_back,
    rest_seconds=_BACK_SECONDS, findings=(each_decided_within(_NOTICED_SECONDS + _BACK_SECONDS), _some_wait),
)  # fmt: skip
