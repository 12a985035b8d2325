"""The installed service under a real `systemd --user`, in namespaces of its own: nothing of the machine is touched
but one cgroup, which goes again.

Opt-in, as root: REAL_SYSTEMD=1 and `-m realsystemd`. It runs as an ordinary user (uid 1000), by a Python that this
user may run (REAL_PYTHON, else /usr/bin/python3) with the packages of the one that runs the tests.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
RECORDING = next((ROOT / "tests/fixtures/recordings/basic/projects").rglob("*.jsonl"))
PYTHON = os.environ.get("REAL_PYTHON", "/usr/bin/python3")
CGROUPS = Path("/sys/fs/cgroup/unified" if Path("/sys/fs/cgroup/unified").is_dir() else "/sys/fs/cgroup")

pytestmark = [
    pytest.mark.realsystemd,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        not os.environ.get("REAL_SYSTEMD") or os.getuid() != 0 or not shutil.which("dbus-daemon"),
        reason="needs root, REAL_SYSTEMD=1, systemd and dbus-daemon",
    ),
]

# As root in new namespaces: the places systemd looks at are made private, then it is an ordinary user's turn.
OUTER = """
set -eu
mkdir "$CGROUP"; echo $$ > "$CGROUP/cgroup.procs"
exec unshare -C -m -p -f --kill-child --mount-proc sh -c '
  mkdir -p /run/systemd; mount -t tmpfs none /run/systemd; mkdir /run/systemd/system
  umount "$CGROUPS" 2>/dev/null || true; mount -t cgroup2 none "$CGROUPS"; chown -R 1000 "$CGROUPS"
  mount -t tmpfs -o mode=755 none /srv; mkdir -m 700 /srv/dev /srv/run; chown 1000:1000 /srv/dev /srv/run
  exec setpriv --reuid 1000 --regid 1000 --clear-groups env -i HOME=/srv/dev XDG_RUNTIME_DIR=/srv/run \
    PATH=/srv/dev/.local/bin:/usr/bin:/bin DBUS_SESSION_BUS_ADDRESS=unix:path=/srv/run/bus sh "$SCENARIO"
'
"""
# Every step prints `== name` before what it prints; what fails is for the assertions to see.
SCENARIO = """
cd "$HOME"
dbus-daemon --session --address="unix:path=$XDG_RUNTIME_DIR/bus" --fork --nopidfile
/lib/systemd/systemd --user 2>"$HOME/systemd.log" &
for _ in $(seq 100); do systemctl --user is-system-running >/dev/null 2>&1 && break; sleep 0.2; done
@PYTHON@ -m venv --without-pip .local/share/ti
printf '@PACKAGES@\\n@ROOT@\\n' > "$(echo .local/share/ti/lib/python3*/site-packages)/ti.pth"
mkdir -p .local/bin .claude/projects/-home-dev-proj; cp @RECORDING@ .claude/projects/-home-dev-proj/
printf '#!%s/.local/share/ti/bin/python3\\nimport sys\\nfrom indexer.cli import main\\nsys.exit(main())\\n' "$HOME" \
  > .local/bin/transcript-indexer; chmod +x .local/bin/transcript-indexer
pid() { systemctl --user show --property=MainPID --value transcript-indexer; }
active() { systemctl --user is-active --quiet transcript-indexer; }
restarts() { systemctl --user show --property=NRestarts --value transcript-indexer; }
wait_restart() { for _ in $(seq 600); do [ "$(restarts)" -ge "$1" ] && active && break; sleep 0.2; done; }
echo "== install"; transcript-indexer service install; echo "rc $?"
active || { echo "== failed"; transcript-indexer watch 2>&1 & sleep 5; exit 1; }
echo "== status"; transcript-indexer service status --json
echo "== search"; sleep 2; transcript-indexer search bash --json
echo "== again"; transcript-indexer service install
echo "== vectors"; transcript-indexer vectors sync >/dev/null 2>&1; transcript-indexer vectors status --json
echo "== killed"; kill -9 "$(pid)"; sleep 1; wait_restart 1; transcript-indexer service status --json
mkdir -p .config/systemd/user/transcript-indexer.service.d
printf '[Service]\\nWatchdogSec=8\\n' > .config/systemd/user/transcript-indexer.service.d/fast.conf
systemctl --user daemon-reload; systemctl --user restart transcript-indexer; sleep 2
echo "== hung"; kill -STOP "$(pid)"; wait_restart 1; transcript-indexer service status --json
echo "== counted"; transcript-indexer search bash --json
echo "== stop"; systemctl --user stop transcript-indexer; transcript-indexer service status --json; echo
echo "== purge"; transcript-indexer service uninstall --purge
echo "== left"; find "$HOME/.config" "$HOME/.local/share" "$HOME/.cache" -type f -not -path '*/share/ti/*' 2>/dev/null
systemctl --user exit
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What each step of the scenario printed."""
    folder = tmp_path_factory.mktemp("systemd")
    for above in (folder, *folder.parents[:2]):
        above.chmod(0o755)
    places = {"PYTHON": PYTHON, "PACKAGES": sysconfig.get_path("purelib"), "ROOT": ROOT, "RECORDING": RECORDING}
    text = SCENARIO
    for name, place in places.items():
        text = text.replace(f"@{name}@", str(place))
    (folder / "scenario.sh").write_text(text)
    cgroup = CGROUPS / f"transcript-indexer-{os.getpid()}"
    env = {"PATH": os.environ["PATH"], "CGROUP": str(cgroup), "CGROUPS": str(CGROUPS)}
    env |= {"SCENARIO": str(folder / "scenario.sh")}
    try:
        done = subprocess.run(["sh", "-c", OUTER], env=env, capture_output=True, text=True, timeout=500, check=False)
        yield dict(part.split("\n", 1) for part in done.stdout.split("== ")[1:])
    finally:
        remove(cgroup)


def remove(cgroup: Path) -> None:
    """The group and those that systemd made below it, once their processes are gone."""
    if cgroup.exists():
        subprocess.run(["find", str(cgroup), "-depth", "-type", "d", "-exec", "rmdir", "{}", "+"], check=False)


def state(text: str) -> Any:
    return json.loads(text.splitlines()[0])["service"]


def found(text: str) -> list[str]:
    return [hit["id"] for hit in json.loads(text)["results"]]


def test_it_is_installed_and_ready(printed: dict[str, str]) -> None:
    assert printed["install"].splitlines()[-1] == "rc 0"
    now = state(printed["status"])
    assert (now["running"], now["enabled"], now["program"]) == (True, True, "/srv/dev/.local/bin/transcript-indexer")
    assert now["detail"].endswith("files to read")


def test_installing_again_leaves_it_alone(printed: dict[str, str]) -> None:
    assert printed["again"].startswith("already installed, unchanged and running")


def test_what_it_read_is_found(printed: dict[str, str]) -> None:
    assert found(printed["search"])


def test_the_vector_index_can_be_opened_by_a_service_that_may_not_write_to_tmp(printed: dict[str, str]) -> None:
    said = json.loads(printed["vectors"].splitlines()[0])
    assert said["index"]["open"], said


def test_it_comes_back_after_a_kill(printed: dict[str, str]) -> None:
    assert (state(printed["killed"])["running"], state(printed["killed"])["restarts"]) == (True, 1)


def test_a_hung_one_is_restarted(printed: dict[str, str]) -> None:
    assert (state(printed["hung"])["running"], state(printed["hung"])["restarts"]) == (True, 1)


def test_nothing_was_lost_and_nothing_came_twice(printed: dict[str, str]) -> None:
    assert found(printed["counted"]) == found(printed["search"])


def test_it_stops(printed: dict[str, str]) -> None:
    assert state(printed["stop"])["running"] is False


def test_nothing_is_left_of_it(printed: dict[str, str]) -> None:
    assert printed["purge"].startswith("removed ")
    assert printed["left"].split() == []
