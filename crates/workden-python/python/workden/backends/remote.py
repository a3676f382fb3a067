"""`RemoteSandbox`: files and commands in a session of a service (`workden serve`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from workden import _native
from workden._ask_callbacks import native_callback
from workden._options import to_json
from workden._refusals import OnDenied, checked
from workden._rules import Permissions, rules_of
from workden._sandbox import NativeSandbox
from workden.backends.base import BaseSandbox

if TYPE_CHECKING:
    from workden.permissions import AskCallback, AskFallback

__all__ = ["RemoteSandbox"]


@BaseSandbox.register
class RemoteSandbox(NativeSandbox):
    """A session of a service of workden. It is created or found on first use.

    One connection carries all calls, and is opened again when it breaks. The rules of the service hold, and a command
    that needs an approval waits for it there.

    ```python no-run
    from workden import RemoteSandbox

    with RemoteSandbox("http://127.0.0.1:8420", "e2b_...", session_id="user-42") as sandbox:
        sandbox.write("hello.py", "print(6 * 7)")
        print(sandbox.execute("python3 hello.py").output)
    ```
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        session_id: str | None = None,
        runtime: str | None = None,
        work_dir: str = "/workspace",
        network: str | None = None,
        memory: int | str | None = None,
        cpus: float | None = None,
        pids: int | None = None,
        env: Mapping[str, str] | None = None,
        idle_timeout: float = 3600,
        permissions: Permissions | None = None,
        ask_callback: AskCallback | None = None,
        ask_fallback: AskFallback = "error",
        on_denied: OnDenied = "answer",
    ) -> None:
        """Configures the session.

        - `url`, `token`: the service, and a key of it or the token of the session. By default: `WORKDEN_URL` and
          `WORKDEN_API_KEY`. A service on this machine may need no key.
        - `session_id`: the name of the session. It is created if it does not exist, and goes on after `stop`. Without a
          name the session is a new one, which `stop` deletes.
        - `runtime`, `network`, `memory`, `cpus`, `pids`, `env`: of a session that is created. The service decides what is
          allowed.
        - `work_dir`: the directory of its files, in which relative paths and commands start.
        - `permissions`, `ask_callback`, `ask_fallback`, `on_denied`: as in `LinuxSandbox`, besides the rules of the
          service.

        Raises `ValueError` if the URL, the key or the name is invalid.
        """
        url = url or os.environ.get("WORKDEN_URL")
        if not url:
            raise ValueError("missing url: pass the URL of `workden serve`, or set WORKDEN_URL")
        self._work_dir = work_dir
        self._ask_fallback: AskFallback = ask_fallback
        self._on_denied: OnDenied = checked(on_denied)
        self._permissions = permissions
        self._config = to_json(
            url=url,
            key=token or os.environ.get("WORKDEN_API_KEY") or None,
            session=session_id,
            runtime=runtime,
            work_dir=work_dir,
            network=network,
            memory=memory,
            cpus=cpus,
            pids=pids,
            variables=dict(env or {}),
            rules=rules_of(permissions),
        )
        self._asks = native_callback(ask_callback)
        super().__init__(session_id, idle_timeout)

    def _create_native(self) -> _native.NativeWorkspace:
        return _native.NativeWorkspace.remote(self._config, self._asks)

    @property
    def work_dir(self) -> str:
        """The directory in which relative paths and commands start."""
        return self._work_dir
