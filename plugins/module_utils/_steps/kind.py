# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kind of drain step: its base class, and all kinds by their names.

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
    """A subclass in a file kind_*.py is all that there is to a kind: it is found by its name.

    A kind that several have in common has its own name and that of the variant, such as load_balancer.haproxy.
    """

    name = None
    # The arguments that it takes, as an argument spec of Ansible.
    options = {}
    # At least one of these must be given.
    some_of = ()
    # The options that say what it acts on, by which a step is known again. Those of a kind that only runs what it is
    # given are in known_by, of which the first that is given counts.
    acts_on = ()
    known_by = ()
    # The options without which there is nothing to undo; None: there always is.
    undone_by = None
    # The options that hold commands.
    commands = ()
    # Whether the option `host` may name another machine that does it.
    has_host = False
    # Whether tasks do it: those in the folder of its name below roles/steps/tasks. They may need a module.
    by_tasks = False
    module = None
    # The folder of its tasks below roles/steps/tasks/windows, if it can be done there.
    on_windows = None

    def __init_subclass__(cls, **more):
        super().__init_subclass__(**more)
        KINDS[cls.name] = cls

    @classmethod
    def problems(cls, arguments, on_windows=False):
        """Sentences about names that can't be what they are given for."""
        return ()

    @classmethod
    def needs(cls, arguments):
        """What has to be there, as tuples: one of the words above, its name, and for a path what it has to be."""
        return [(COMMAND, arguments[name], "") for name in cls.commands if name in arguments]

    @classmethod
    def leaves_nothing(cls, arguments):
        """Whether there is nothing to undo."""
        return cls.undone_by is not None and not any(arguments.get(name) for name in cls.undone_by)

    @classmethod
    def looks_on_windows(cls, arguments):
        """Whether it looks at the host before it begins: a call is saved where there is nothing to look at."""
        return False

    @classmethod
    def seconds_waited(cls, arguments):
        """How long it waits whatever happens."""
        return 0

    @classmethod
    def webhook_of_the_controller(cls, arguments):
        """The webhook that the controller notifies and not the host, or None."""
        return

    @classmethod
    def look(cls, host, arguments):
        """What is found before the step, for its return."""
        return {}

    @classmethod
    def drain(cls, host, arguments, before):
        raise NotImplementedError

    @classmethod
    def restore(cls, host, arguments, before):
        """Undo it; without this there is nothing to undo."""


def kind_of(name, arguments):
    """The class that does such a step, or None, and the arguments that are for it."""
    for full_name, kind in KINDS.items():
        group, _dot, variant = full_name.partition(".")
        if group == name and variant and isinstance(arguments.get(variant), dict):
            return kind, arguments[variant]
    return KINDS.get(name), arguments


def load_kinds():
    """Import the files of all kinds; on a host that was sent a few only, these are there already."""
    package = __name__.rpartition(".")[0]
    for found in pkgutil.iter_modules(importlib.import_module(package).__path__):
        if found.name.startswith("kind_"):
            importlib.import_module("%s.%s" % (package, found.name))


def is_known(name):
    """Whether a host does such a step without the help of tasks."""
    load_kinds()
    return any(full_name.partition(".")[0] == name and not kind.by_tasks for full_name, kind in KINDS.items())
