# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of drain steps: the base class, and the table of all kinds.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import importlib
import pkgutil

# Name of a kind, such as "services" or "load_balancer.haproxy" -> its class.
KINDS = {}
# What a step needs, for the check of a fleet. MACHINE: nothing to look for there, but somewhere to get to.
UNIT, PATH, COMMAND, MACHINE = "unit", "path", "command", "machine"
# For the options of a kind. A command is a line that is split into words, or a list of words. No shell sees it.
A_COMMAND = dict(type="raw")
A_TIMEOUT = dict(type="int", default=300)


class Kind:
    """Base class of all kinds. A kind is a subclass in a file kind_*.py, by whose name it is found.

    A variant of a kind is named KIND.VARIANT, such as load_balancer.haproxy.
    """

    name = None
    # Argument spec, as Ansible has it.
    options = {}
    # At least one of these must be given.
    some_of = ()
    # Options that name the target, by which a step is recognized. A kind that only runs what it is given has known_by
    # instead, of which the first given option counts.
    acts_on = ()
    known_by = ()
    # Options without which there is nothing to undo; None: there is always something to undo.
    undone_by = None
    # Options that hold commands.
    commands = ()
    # True if the option `host` may name another machine that does the step.
    has_host = False
    # True if tasks do the step: those in the folder of its name below roles/steps/tasks, which may need `module`.
    by_tasks = False
    module = None
    # Folder of its tasks below roles/steps/tasks/windows, or None for a kind without Windows support.
    on_windows = None

    def __init_subclass__(cls, **more):
        super().__init_subclass__(**more)
        KINDS[cls.name] = cls

    @classmethod
    def problems(cls, arguments, on_windows=False):
        """Return sentences about invalid names in the arguments."""
        return ()

    @classmethod
    def needs(cls, arguments):
        """Return requirements as tuples: UNIT, PATH, COMMAND or MACHINE, the name, and the type of a path."""
        return [(COMMAND, arguments[name], "") for name in cls.commands if name in arguments]

    @classmethod
    def leaves_nothing(cls, arguments):
        """Return True if there is nothing to undo."""
        return cls.undone_by is not None and not any(arguments.get(name) for name in cls.undone_by)

    @classmethod
    def looks_on_windows(cls, arguments):
        """Return True if the step looks at the host before it begins; otherwise a call is saved."""
        return False

    @classmethod
    def seconds_waited(cls, arguments):
        """Return the seconds that the step waits in any case."""
        return 0

    @classmethod
    def webhook_of_the_controller(cls, arguments):
        """Return the webhook that the controller notifies instead of the host, or None."""
        return

    @classmethod
    def look(cls, host, arguments):
        """Return the state before the step, for its undo."""
        return {}

    @classmethod
    def drain(cls, host, arguments, before):
        raise NotImplementedError

    @classmethod
    def restore(cls, host, arguments, before):
        """Undo the step. A kind without this method has nothing to undo."""


def kind_of(name, arguments):
    """Return the class of such a step, or None, and the arguments for it."""
    for full_name, kind in KINDS.items():
        group, _dot, variant = full_name.partition(".")
        if group == name and variant and isinstance(arguments.get(variant), dict):
            return kind, arguments[variant]
    return KINDS.get(name), arguments


def load_kinds():
    """Import the files of all kinds. A host that received only a few has these already."""
    package = __name__.rpartition(".")[0]
    for found in pkgutil.iter_modules(importlib.import_module(package).__path__):
        if found.name.startswith("kind_"):
            importlib.import_module("%s.%s" % (package, found.name))


def is_known(name):
    """Return True if a host does such a step without tasks."""
    load_kinds()
    return any(full_name.partition(".")[0] == name and not kind.by_tasks for full_name, kind in KINDS.items())
