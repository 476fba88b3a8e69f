# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole program, put together."""

import contextlib
import os
import signal
import sys
import threading

from .clock import Clock
from .command_line import EXAMPLE_FLEET, command_line, host_and_port, read_fleet, settings_of
from .control import Control
from .faults import Faults
from .fleet import Fleet
from .hooks import hook_runner
from .input_checks import InputError, a_port
from .metadata_service import MetadataService
from .network import Network
from .request_log import RequestLog
from .world import World

try:
    import resource
except ImportError:  # not a POSIX system: the limit of open files stays what it is
    resource = None


def allow_many_open_files():
    """A fleet of a thousand VMs needs more sockets than the usual soft limit allows."""
    if resource is not None:
        _dummy, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def open_listeners(network, fleet, service, options):
    for vm in fleet.vms.values():

        def answer(request, client_is_there, vm=vm):
            return service.answer(vm, request, client_is_there)

        port = options.port if vm.port is None else vm.port
        vm.url = network.listen(vm.key, vm.address, port, "VM " + vm.key, answer, vm.network_namespace)


def stop_at_end_of_input(network):
    with contextlib.suppress(OSError):
        while os.read(0, 4096):
            pass
    network.stop()


def simulate(options):
    control_place = host_and_port(options.control)
    if a_port(options.port):
        raise InputError("--port must be " + a_port(options.port))
    fleet = Fleet(read_fleet(options.fleet), options.profile)
    fleet.settings.update(settings_of(options))
    if options.check:
        World(fleet, Clock(fleet.settings["speed"]))
        return
    allow_many_open_files()
    network = Network()
    signal.signal(signal.SIGTERM, network.stop)
    signal.signal(signal.SIGINT, network.stop)
    run_hook = hook_runner({"started": options.on_start, "finished": options.on_finish})

    def on_change(event, change):
        run_hook(event, change)
        # An event that starts takes VMs down.
        network.wake()

    world = World(fleet, Clock(fleet.settings["speed"]), on_change)
    faults = Faults(fleet.vms)
    service = MetadataService(world, faults, RequestLog())
    open_listeners(network, fleet, service, options)
    control = Control(service, network.sync)
    control_url = network.listen(
        None,
        control_place[0],
        control_place[1],
        "the control interface",
        lambda request, _dummy: control.answer(request),
    )
    threading.Thread(target=world.run_clock, daemon=True).start()
    if options.stop_with_stdin:
        threading.Thread(target=stop_at_end_of_input, args=(network,), daemon=True).start()
    for vm in fleet.vms.values():
        print("vm %s %s" % (vm.key, vm.url))
    print("control %s" % control_url)
    print("ready", flush=True)
    network.run(lambda: faults.refused() | world.silent_vms())


def main(arguments=None):
    parser = command_line()
    options = parser.parse_args(arguments)
    if options.example:
        sys.stdout.write(EXAMPLE_FLEET)
        return 0
    if not options.fleet:
        parser.error("--fleet is required (--example prints a fleet file to start from)")
    try:
        simulate(options)
    except InputError as problem:
        print("metadata_simulator: %s" % problem, file=sys.stderr)
        return 2
    return 0
