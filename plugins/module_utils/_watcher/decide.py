# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decisions of the reflexes: the event to act on, and the next action.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import collections
import hashlib
import json
import re

from .._azure import documents
from .._azure.rules import first_match

# Each host decides alone, so only the document keeps two of them from going down at once: of the events that name
# different VMs, only the first may be acted on.

ACTIONS = ("tell", "drain", "drain_and_approve")
# After an event is over, its host may take this long to come back.
SECONDS_TO_COME_BACK = 30

# `event`: the event to drain for, or None. `late`: another event comes first, so this one is never approved.
# `approve`: approve once all steps are done. `past_others`: continue after steps that only others can do.
# `look_again_in`: seconds after which time alone may change the decision, or None.
Reflex = collections.namedtuple("Reflex", "event late approve past_others why look_again_in")

# The mark of a run on this host: `holds` while the run is at work, `recent` until 30 minutes after.
RunMark = collections.namedtuple("RunMark", "holds recent")
NO_RUN = RunMark(False, False)


def decide_reflex(document, vm_name, sightings, rules, now, latest, run=NO_RUN):
    """Decide which event to begin with now. A drain that has begun is not decided again."""
    events = _by_now(document, now)
    candidates = [(event, rule) for event, rule in _ruled(events, vm_name, rules) if rule.action != "tell"]
    if not candidates:
        return Reflex(None, False, False, False, "there is nothing to do", None)
    # Events that take this VM away come first: draining for them costs only what is lost anyway.
    candidates.sort(key=lambda one: (not documents.takes_away(one[0]), one[0]["not_before"] or ""))
    waits = []
    for event, rule in candidates:
        reflex = _of_one(event, rule, events, sightings, now, latest, run)
        if reflex.event:
            return reflex
        waits.append(reflex)
    soonest = min((one.look_again_in for one in waits if one.look_again_in is not None), default=None)
    return waits[0]._replace(look_again_in=soonest)


def approvable_events(document, vm_name, rules, now):
    """Return the ids of the events that these rules have approved."""
    ruled = _ruled(_by_now(document, now), vm_name, rules)
    return {documents.canonical_id(event["id"]) for event, rule in ruled if rule.action == "drain_and_approve"}


def _by_now(document, now):
    return documents.refresh({"events": [dict(event) for event in document["events"]]}, now)["events"]


def _ruled(events, vm_name, rules):
    """Return the events of this VM, each with the rule that applies to it."""
    found = [(event, first_match(event, rules)) for event in events if documents.names_host(event, vm_name)]
    return [(event, rule) for event, rule in found if rule]


def _of_one(event, rule, events, sightings, now, latest, run):
    approve = rule.action == "drain_and_approve"
    past_others = rule.flags.get("past_others", False)

    def begin(why, late=False):
        return Reflex(event, late, approve and not late, past_others, why, None)

    def wait(why, seconds=None):
        until_latest = None if due is None else max(0, due - now - latest)
        times = [one for one in (seconds, until_latest) if one is not None]
        return Reflex(None, False, False, past_others, why, min(times) if times else None)

    due = None if event["not_before"] is None else documents.timestamp(event["not_before"])
    if documents.takes_away(event):
        return begin("this VM is going to be taken away")
    if run.holds:
        return wait("a run is at work on this host", 1)
    others = others_than(event, events)
    since = None if sightings.others_gone_at is None else now - sightings.others_gone_at
    may_still_come_back = since is not None and 0 <= since < SECONDS_TO_COME_BACK
    if event["status"] == "Started":
        # Azure takes this VM down in any case, also while another host is on its way back.
        return begin("it has started", late=True)
    # An event without a readable date is never due: its last moment is unknown, and all hosts would drain for it.
    is_late = due is not None and due - now <= latest
    if not others or (not run.recent and all(sightings.came_before(event, other) for other in others)):
        if since is not None and may_still_come_back:
            if is_late:
                return begin("it is due, although another host may still be on its way back", late=True)
            return wait("the host of an event that is over may still be on its way back", SECONDS_TO_COME_BACK - since)
        return begin("it came before the events of other VMs" if others else "no event of another VM is there")
    if is_late:
        return begin("it is due, although the event of another VM comes first", late=True)
    if run.recent:
        return wait("a run was here a short while ago, and another VM has an event too")
    return wait("the event of another VM comes first")


def others_than(event, events):
    """Return the events that name a VM which `event` does not."""
    mine = [documents.canonical_name(name) for name in event["resources"]]
    return [other for other in events if any(documents.canonical_name(name) not in mine for name in other["resources"])]


def may_be_approved(document, event, vm_name):
    """Return True if `event` is as it was when the host was drained for it, and names this VM alone, as do all others.

    `document` was read right before the approval.
    """
    shown = [
        one for one in document["events"] if documents.canonical_id(one["id"]) == documents.canonical_id(event["id"])
    ]
    if len(shown) != 1 or shown[0]["status"] != "Scheduled":
        return False
    same = all(shown[0][key] == event.get(key) for key in ("type", "not_before", "resources"))
    alone = [documents.canonical_name(name) for name in shown[0]["resources"]] == [documents.canonical_name(vm_name)]
    return same and alone and not others_than(shown[0], document["events"])


# Keys that reflexes add to a journal: `approve` and `past_others` list the ids of the events whose rules allowed that
# when the drain began; `left` has texts about what others have to do; with `own_steps_done` nothing else is left.


def of_journal(journal, event):
    """Return the event as it was when the host was drained for it, or None."""
    known = [one for one in (journal or {}).get("events") or () if _id_of(one) == _id_of(event)]
    return known[0] if known else None


def has_event(journal, event):
    return of_journal(journal, event) is not None


def has_in(journal, key, event):
    """Return True if the list `key` of the journal has this event."""
    listed = (journal or {}).get(key)
    return isinstance(listed, list) and _id_of(event) in listed


def put_in(journal, key, event, is_in):
    listed = journal.get(key)
    others = [one for one in listed if one != _id_of(event)] if isinstance(listed, list) else []
    journal[key] = others + [_id_of(event)] * is_in


def has_done_its_part(journal, boot):
    """Return True if this host has done every step that it can do since it was booted."""
    if journal.get("boot_id") != boot:
        return False
    return journal["state"] == "drained" or (journal["state"] == "draining" and bool(journal.get("own_steps_done")))


def _id_of(event):
    return documents.canonical_id(str(event.get("id", "")))


# Pause before the undo of a drain whose VM should have been taken away, or that a run took over and abandoned.
SECONDS_OVER = 5 * 60
# A marked approval without effect is sent again after this time.
SECONDS_TO_START = 60

DRAIN, APPROVE, RETURN, TAKE_BACK, WAIT, END = "drain", "approve", "return", "take back", "wait", "end"
Action = collections.namedtuple("Action", "do event look_again_in")


class Situation:
    """The input of `next_action`. `ours`: the owner of the reflexes' journals.

    `over_for`: seconds since the journal's last event was over, or None. `approvable`: ids that today's rules approve.
    """

    def __init__(
        self, journal, document, vm_name, reflex, run, ours, boot, now, over_for, mark_ended_for, worked_on, approvable
    ):
        self.journal = journal
        self.document = document
        self.vm_name = vm_name
        self.reflex = reflex
        self.run = run
        self.ours = ours
        self.boot = boot
        self.now = now
        self.over_for = over_for
        self.mark_ended_for = mark_ended_for
        self.worked_on = worked_on
        self.approvable = approvable


def next_action(it):
    if it.journal is None:
        if it.reflex.event:
            return Action(DRAIN, it.reflex.event, None)
        if it.reflex.look_again_in is not None:
            return Action(WAIT, None, it.reflex.look_again_in)
        return Action(END, None, None)
    shown = shown_events(it.journal, it.document)
    leaves_for = _to_leave_for(it)
    if it.journal.get("run_id") != it.ours:
        return _with_a_runs_journal(it, shown, leaves_for)
    if leaves_for:
        return Action(DRAIN, leaves_for, None)
    # The more urgent event decides, and gives way to no run.
    urgent = next((event for event in shown if documents.takes_away(event)), None)
    if it.run.holds and not urgent:
        # The run takes the journal over, or its mark expires.
        return Action(WAIT, None, 1)
    if it.journal.get("returned"):
        # Only a run can undo the rest; until then the host may be drained anew.
        return Action(DRAIN, it.reflex.event, None) if it.reflex.event else Action(WAIT, None, it.reflex.look_again_in)
    if not shown:
        # A host that has to be drained again at once stays out of service.
        return Action(DRAIN, it.reflex.event, None) if it.reflex.event else _when_it_is_over(it)
    if it.journal["state"] == "restoring" and not urgent:
        # A return that has begun is finished first.
        return Action(RETURN, None, None)
    if not has_done_its_part(it.journal, it.boot):
        return Action(DRAIN, urgent or shown[0], None)
    return _approval(it, shown) if it.journal["state"] == "drained" else Action(WAIT, None, None)


def _to_leave_for(it):
    """Return the event that takes this VM away and is not in the journal yet, or None."""
    event = it.reflex.event
    is_one = event and documents.takes_away(event) and not has_event(it.journal, event)
    return event if is_one else None


def shown_events(journal, document):
    """Return the events of the document that are in the journal as well."""
    wanted = [documents.canonical_id(str(event.get("id", ""))) for event in journal["events"]]
    return [event for event in document["events"] if documents.canonical_id(event["id"]) in wanted]


def _when_it_is_over(it):
    is_taken_away = any(documents.takes_away(event) for event in it.journal["events"])
    if is_taken_away and it.journal.get("boot_id") == it.boot and (it.over_for or 0) < SECONDS_OVER:
        return Action(WAIT, None, SECONDS_OVER - (it.over_for or 0))
    return Action(RETURN, None, None)


def _with_a_runs_journal(it, shown, leaves_for):
    if it.worked_on:
        return Action(WAIT, None, 1 if leaves_for else None)
    if leaves_for and not _is_drained_by_hand(it):
        # No run waits for a VM that is taken away, and the one that began this is not at work.
        return Action(DRAIN, leaves_for, None)
    if it.journal["state"] == "marked" or shown or not _was_ours(it.journal):
        return Action(WAIT, None, None)
    # A reboot removes the mark.
    since = (it.over_for or 0) if it.mark_ended_for is None else it.mark_ended_for
    if since < SECONDS_OVER:
        return Action(WAIT, None, SECONDS_OVER - since)
    return Action(DRAIN, it.reflex.event, None) if it.reflex.event else Action(TAKE_BACK, None, None)


def _is_drained_by_hand(it):
    """Return True if an operator has drained the host without an event: only the operator ends that."""
    return not it.journal["events"] and has_done_its_part(it.journal, it.boot)


def _was_ours(journal):
    """Return True if a run has taken over a drain of the reflexes. A drain that a run began is undone by a run."""
    return bool(journal["events"] and journal.get("steps_digest"))


def _approval(it, shown):
    if it.run.holds:
        return Action(WAIT, None, None)
    for event in shown:
        event_id = documents.canonical_id(event["id"])
        if event_id not in it.approvable or not has_in(it.journal, "approve", event):
            continue
        if not may_be_approved(it.document, of_journal(it.journal, event), it.vm_name):
            continue
        marks = [
            mark["at"] for mark in it.journal.get("marks", []) if documents.canonical_id(mark["event"]) == event_id
        ]
        age = it.now - max(marks or [0])
        if 0 <= age < SECONDS_TO_START:
            return Action(WAIT, None, SECONDS_TO_START - age)
        return Action(APPROVE, event, None)
    return Action(WAIT, None, None)


# All watchers of a group read one document, each at its own times, and no two of them can see events appear in opposite
# sequence. Events that appeared with one document are ordered by date and id, but only by watchers that have also read
# the document right before it: one that missed a document can't order the new events.


class Sightings:
    """The sequence of events. `kept`: an earlier result of `data`, None on the first start or after a lost disk."""

    def __init__(self, kept=None):
        kept = kept if _is_whole(kept) else {}
        self.incarnation = kept.get("incarnation")
        self.generation = kept.get("generation", 0)
        # Event id -> [number of its first reading, whether that document directly followed the one before, date then,
        # whether the event names other VMs].
        self.seen = kept.get("seen", {})
        # Time when an event of other VMs ended, or may have ended unseen.
        self.others_gone_at = kept.get("others_gone_at")

    def data(self):
        return {
            "incarnation": self.incarnation,
            "generation": self.generation,
            "seen": self.seen,
            "others_gone_at": self.others_gone_at,
        }

    def note(self, document, vm_name, now):
        """Update this with a good reading. Return True if there is something new to store."""
        incarnation = document["document_incarnation"]
        shown = {documents.canonical_id(event["id"]): event for event in document["events"]}
        if self.generation and incarnation == self.incarnation and set(shown) == set(self.seen):
            return False
        self.generation += 1
        is_next = _is_next(self.incarnation, incarnation)
        for event_id, event in shown.items():
            if event_id not in self.seen:
                has_others = any(
                    documents.canonical_name(name) != documents.canonical_name(vm_name) for name in event["resources"]
                )
                self.seen[event_id] = [self.generation, is_next, event["not_before"] or "", has_others]
        for event_id in [event_id for event_id in self.seen if event_id not in shown]:
            if self.seen.pop(event_id)[3]:
                self.others_gone_at = now
        if not is_next:
            self.others_gone_at = now
        self.incarnation = incarnation
        return True

    def came_before(self, event, other):
        """Return True if `event` comes before `other` for every watcher that can order them."""
        if (event["status"] == "Started") != (other["status"] == "Started"):
            return event["status"] == "Started"
        if event["status"] == "Started":
            # Azure has started both: nothing is gained by waiting.
            return True
        mine, its = (self.seen.get(documents.canonical_id(one["id"])) for one in (event, other))
        if mine is None or its is None:
            return False
        if mine[0] != its[0]:
            return mine[0] < its[0]
        if not mine[1]:
            return False
        # By their first dates, as Azure may change a date.
        return (mine[2], documents.canonical_id(event["id"])) < (its[2], documents.canonical_id(other["id"]))


def _is_next(before, now):
    return isinstance(before, int) and isinstance(now, int) and now == before + 1


def _is_whole(kept):
    return (
        isinstance(kept, dict)
        and isinstance(kept.get("generation"), int)
        and isinstance(kept.get("others_gone_at"), (int, float, type(None)))
        and isinstance(kept.get("seen"), dict)
        and all(_is_whole_sighting(one) for one in kept["seen"].values())
    )


def _is_whole_sighting(one):
    kinds = (int, bool, str, bool)
    return isinstance(one, list) and len(one) == 4 and all(isinstance(*pair) for pair in zip(one, kinds))


# Encloses what the controller puts in place of {{ maintenance_event.KEY }}.
MARK_SIGN = "\u2063"
# Letters of both cases, so that a filter such as `lower` is noticed.
MARK = MARK_SIGN + "Event.%s" + MARK_SIGN
# Default action of a rule.
TELL = "tell"
# Additional keys of a rule.
FLAGS = ("past_others",)
KEYS = (
    "id",
    "type",
    "status",
    "source",
    "resource_type",
    "not_before",
    "seconds_left",
    "duration_seconds",
    "description",
)


def digest_of_steps(steps):
    """Return the digest that identifies a list of steps, on the controller as on the host."""
    return hashlib.sha256(json.dumps(steps, sort_keys=True).encode("utf-8")).hexdigest()


def steps_to_do(steps, past_others):
    """Return the steps that this host does, and texts about those that are left for a run.

    A step that others have to do has `left`, a text about it. Unless `past_others`, all steps after it are left as
    well: a web server must not stop behind a load balancer that still sends to it.
    """
    mine, left = [], []
    for step in steps:
        if step.get("left"):
            left.append(step["left"])
        elif left and not past_others:
            left.append("step %d (%s) comes after it" % (step["number"], step["kind"]))
        else:
            mine.append(step)
    return mine, left


def to_do(steps, past_others, journal):
    """Return the same as `steps_to_do`, without the steps of others that a run has done according to the journal.

    The steps that this host does get their numbers from the journal.
    """
    done = [(record["number"], record["kind"]) for record in journal["steps"] if record["status"] == "done"]
    still = [step for step in steps if not (step.get("left") and (step["number"], step["kind"]) in done)]
    mine, left = steps_to_do(still, past_others)
    mine = _numbered(mine, journal["steps"])
    known = [(step["number"], step["kind"]) for step in steps] + [(step["number"], step["kind"]) for step in mine]
    for record in journal["steps"]:
        if record["status"] in ("started", "failed") and (record["number"], record["kind"]) not in known:
            left.append("step %d (%s) was begun by another list of steps" % (record["number"], record["kind"]))
    return mine, left


def _numbered(steps, records):
    """Give each step the number of the record that does the same, or a new one if another record has its number.

    So a record of a run that had other steps is never mistaken for one of these, and is undone as it was done.
    """
    records, found = list(records), []
    numbers = [one["number"] for one in records + list(steps)]
    for step in steps:
        same = [record for record in records if is_same_step(record, step)]
        same.sort(key=lambda record: record["number"] != step["number"])
        number = step["number"]
        if same:
            number = same[0]["number"]
            records.remove(same[0])
        elif any(record["number"] == number for record in records):
            number = max(numbers) + 1
            numbers.append(number)
        found.append(dict(step, number=number))
    return found


def is_same_step(record, step):
    """Return True if a record of a journal is this step of a list, whatever event was filled in."""
    return record["kind"] == step["kind"] and _fits(step["arguments"], record["arguments"])


def _fits(meant, done):
    if isinstance(meant, dict) and isinstance(done, dict):
        # A timeout does not change what a step does.
        names = [set(one) - {"timeout"} for one in (meant, done)]
        return names[0] == names[1] and all(_fits(meant[name], done[name]) for name in names[0])
    if isinstance(meant, list) and isinstance(done, list):
        return len(meant) == len(done) and all(_fits(*pair) for pair in zip(meant, done))
    if isinstance(meant, str) and MARK_SIGN in meant:
        pattern = ".*".join(re.escape(part) for part in re.split(MARK % "[a-z_]+", meant))
        return re.match("(?s)%s$" % pattern, str(done)) is not None
    return str(meant) == str(done)


def filled_in(step, event):
    """Return the step for this event, in the form that the journal stores."""
    return {
        "number": step["number"],
        "kind": step["kind"],
        "arguments": filled(step["arguments"], event),
        "before": None,
        "event": event["id"],
    }


def filled(value, event):
    """Return `value` with the details of this event in the place of marks."""
    if isinstance(value, str):
        for key in KEYS:
            if MARK % key in value:
                value = value.replace(MARK % key, "" if event.get(key) is None else str(event[key]))
        return value
    if isinstance(value, dict):
        return {name: filled(one, event) for name, one in value.items()}
    if isinstance(value, list):
        return [filled(one, event) for one in value]
    return value
