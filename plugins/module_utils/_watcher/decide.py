# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decisions of the watcher: what may begin, and what comes next.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import collections
import hashlib
import json
import re

from .._azure import documents
from .._azure.rules import first_match

# Every host decides for itself here, so only the document keeps two of them from going down at once: of the events that
# name different VMs, only the first may be acted on.

ACTIONS = ("tell", "drain", "drain_and_approve")
# For this many seconds after an event is over, its host may still be on its way back.
SECONDS_TO_COME_BACK = 30

# `event` is the one to drain for, or None. `late`: although another one comes first, so that it is never approved.
# `approve`: it may be approved once all is done. `past_others`: steps that others must do do not stop it.
# `look_again_in`: when time alone may change this, in seconds, or None.
Reflex = collections.namedtuple("Reflex", "event late approve past_others why look_again_in")

# What a run has left on this host: `holds` while it is at work, `recent` for 30 minutes after.
RunMark = collections.namedtuple("RunMark", "holds recent")
NO_RUN = RunMark(False, False)


def decide_reflex(document, vm_name, sightings, rules, now, latest, run=NO_RUN):
    """What is to be begun now. What has begun is not asked about again."""
    events = _by_now(document, now)
    candidates = [(event, rule) for event, rule in _ruled(events, vm_name, rules) if rule.action != "tell"]
    if not candidates:
        return Reflex(None, False, False, False, "there is nothing to do", None)
    # An event that takes its own VM away takes nothing from the others.
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
    """The ids of the events that these rules have approved."""
    ruled = _ruled(_by_now(document, now), vm_name, rules)
    return {documents.canonical_id(event["id"]) for event, rule in ruled if rule.action == "drain_and_approve"}


def _by_now(document, now):
    return documents.refresh({"events": [dict(event) for event in document["events"]]}, now)["events"]


def _ruled(events, vm_name, rules):
    """The events of this VM, each with the rule that decides about it."""
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
        # Azure takes it down whatever is done here, also while another host is on its way back.
        return begin("it has started", late=True)
    # What has no date that is understood is never due: nobody knows when its last moment is, and all would take it.
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
    """The events that name a VM which this one does not."""
    mine = [documents.canonical_name(name) for name in event["resources"]]
    return [other for other in events if any(documents.canonical_name(name) not in mine for name in other["resources"])]


def may_be_approved(document, event, vm_name):
    """By the document that was read right before the approval: it is as it was, for this VM alone, and the only one.

    `event` is what the host was drained for.
    """
    shown = [
        one for one in document["events"] if documents.canonical_id(one["id"]) == documents.canonical_id(event["id"])
    ]
    if len(shown) != 1 or shown[0]["status"] != "Scheduled":
        return False
    same = all(shown[0][key] == event.get(key) for key in ("type", "not_before", "resources"))
    alone = [documents.canonical_name(name) for name in shown[0]["resources"]] == [documents.canonical_name(vm_name)]
    return same and alone and not others_than(shown[0], document["events"])


# What reflexes add to a journal: `approve` and `past_others` are the ids of the events for which the rules said so when
# the drain for them began; `left` are texts about what others have to do; with `own_steps_done` nothing else is left.


def of_journal(journal, event):
    """The event as it was when the host was drained for it, or None."""
    known = [one for one in (journal or {}).get("events") or () if _id_of(one) == _id_of(event)]
    return known[0] if known else None


def has_event(journal, event):
    return of_journal(journal, event) is not None


def has_in(journal, key, event):
    """Whether that list of the journal has this event."""
    listed = (journal or {}).get(key)
    return isinstance(listed, list) and _id_of(event) in listed


def put_in(journal, key, event, is_in):
    listed = journal.get(key)
    others = [one for one in listed if one != _id_of(event)] if isinstance(listed, list) else []
    journal[key] = others + [_id_of(event)] * is_in


def has_done_its_part(journal, boot):
    """Whether every step that this host can do is done, since it was booted."""
    if journal.get("boot_id") != boot:
        return False
    return journal["state"] == "drained" or (journal["state"] == "draining" and bool(journal.get("own_steps_done")))


def _id_of(event):
    return documents.canonical_id(str(event.get("id", "")))


# What a journal has for a while after its VM was to be taken away, or after a run that never came back.
SECONDS_OVER = 5 * 60
# A marked approval that shows no effect for so long is sent again.
SECONDS_TO_START = 60

DRAIN, APPROVE, RETURN, TAKE_BACK, WAIT, END = "drain", "approve", "return", "take back", "wait", "end"
Action = collections.namedtuple("Action", "do event look_again_in")


class Situation:
    """`ours` is by whom our journals are; `over_for` seconds since the journal's last event was seen, or None.

    `approvable` are the ids of the events that the rules of today have approved.
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
    # What is done goes by the more urgent event, which gives way to nobody.
    urgent = next((event for event in shown if documents.takes_away(event)), None)
    if it.run.holds and not urgent:
        # It takes over what is here, or lets go.
        return Action(WAIT, None, 1)
    if it.journal.get("returned"):
        # All that is left of it is for a run, which does not keep the host from being drained anew.
        return Action(DRAIN, it.reflex.event, None) if it.reflex.event else Action(WAIT, None, it.reflex.look_again_in)
    if not shown:
        # Who is to leave again at once stays out.
        return Action(DRAIN, it.reflex.event, None) if it.reflex.event else _when_it_is_over(it)
    if it.journal["state"] == "restoring" and not urgent:
        # Somebody has begun to undo it: that is brought to an end first.
        return Action(RETURN, None, None)
    if not has_done_its_part(it.journal, it.boot):
        return Action(DRAIN, urgent or shown[0], None)
    return _approval(it, shown) if it.journal["state"] == "drained" else Action(WAIT, None, None)


def _to_leave_for(it):
    """The event that takes this VM away and that the journal does not know yet, or None."""
    event = it.reflex.event
    is_one = event and documents.takes_away(event) and not has_event(it.journal, event)
    return event if is_one else None


def shown_events(journal, document):
    """The events of the document that the journal is about."""
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
        # Nobody waits for a VM that is taken away, and the run that began this is not at work.
        return Action(DRAIN, leaves_for, None)
    if it.journal["state"] == "marked" or shown or not _was_ours(it.journal):
        return Action(WAIT, None, None)
    # The mark does not outlive a reboot.
    since = (it.over_for or 0) if it.mark_ended_for is None else it.mark_ended_for
    if since < SECONDS_OVER:
        return Action(WAIT, None, SECONDS_OVER - since)
    return Action(DRAIN, it.reflex.event, None) if it.reflex.event else Action(TAKE_BACK, None, None)


def _is_drained_by_hand(it):
    """Somebody has drained it without an event, for as long as he likes: nothing is left to do, or to be undone."""
    return not it.journal["events"] and has_done_its_part(it.journal, it.boot)


def _was_ours(journal):
    """Whether a run has taken over what the reflexes began. What a run began itself, it or the next one returns."""
    return bool(journal["events"] and journal.get("steps_digest"))


def _approval(it, shown):
    if it.run.holds:
        return Action(WAIT, None, None)
    for event in shown:
        event_id = documents.canonical_id(event["id"])
        if event_id not in it.approvable or not has_in(it.journal, "approve", event):
            continue
        # As it was when the host was drained for it.
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


# All watchers of a group read one document, each at moments of its own. What one has seen come before something else,
# no other can have seen the other way round. Where several came at once, all who have read the very document before
# and the very document after agree that they came at once, and then they agree by date and id. Who has missed a
# document in between can't know, and says that nothing came before anything.


class Sightings:
    """`kept` is what `data` gave before; None where nothing is known, as on the first start or after a lost disk."""

    def __init__(self, kept=None):
        kept = kept if _is_whole(kept) else {}
        self.incarnation = kept.get("incarnation")
        self.generation = kept.get("generation", 0)
        # Event id -> [the reading that it came with, whether that was the very next document, its date then,
        # whether it names other VMs].
        self.seen = kept.get("seen", {})
        # When an event of other VMs ended, or may have ended unseen.
        self.others_gone_at = kept.get("others_gone_at")

    def data(self):
        return {
            "incarnation": self.incarnation,
            "generation": self.generation,
            "seen": self.seen,
            "others_gone_at": self.others_gone_at,
        }

    def note(self, document, vm_name, now):
        """Take in a good reading. Returns whether there is something new to keep."""
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
        """Whether this event is before that one, for every watcher that can tell at all."""
        if (event["status"] == "Started") != (other["status"] == "Started"):
            return event["status"] == "Started"
        if event["status"] == "Started":
            # Azure has both under way: nothing is gained by waiting.
            return True
        mine, its = (self.seen.get(documents.canonical_id(one["id"])) for one in (event, other))
        if mine is None or its is None:
            return False
        if mine[0] != its[0]:
            return mine[0] < its[0]
        if not mine[1]:
            return False
        # As they were when they came, as Azure may change a date.
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


# What the controller puts in place of {{ maintenance_event.KEY }}.
MARK_SIGN = "\u2063"
# Letters of both cases, so that a filter such as `lower` is noticed.
MARK = MARK_SIGN + "Event.%s" + MARK_SIGN
# The action of a rule that names none.
TELL = "tell"
# More keys that a rule may have.
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
    """By which a list of steps is known, on the controller as on the host."""
    return hashlib.sha256(json.dumps(steps, sort_keys=True).encode("utf-8")).hexdigest()


def steps_to_do(steps, past_others):
    """The steps that are done here, and texts about those that are left for a run.

    `steps` are those of the user, in order. One that others have to do has `left`, a text about it, and all that come
    after it are left as well: a web server must not stop behind a load balancer that still sends to it.
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
    """The same where something was done already: what a run did of others' steps is no longer left for one.

    Steps that are done here have the numbers that the journal knows them by.
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
    """A step is known again by what it does. Where its number is another one's, it gets a new number.

    So it is with a journal of a run that had other steps: none of them is taken for one of these, and each is undone as
    it was done.
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
    """Whether a step of a journal is this one of a list, whatever event was filled in."""
    return record["kind"] == step["kind"] and _fits(step["arguments"], record["arguments"])


def _fits(meant, done):
    if isinstance(meant, dict) and isinstance(done, dict):
        # How long it may take says nothing about what it does.
        names = [set(one) - {"timeout"} for one in (meant, done)]
        return names[0] == names[1] and all(_fits(meant[name], done[name]) for name in names[0])
    if isinstance(meant, list) and isinstance(done, list):
        return len(meant) == len(done) and all(_fits(*pair) for pair in zip(meant, done))
    if isinstance(meant, str) and MARK_SIGN in meant:
        pattern = ".*".join(re.escape(part) for part in re.split(MARK % "[a-z_]+", meant))
        return re.match("(?s)%s$" % pattern, str(done)) is not None
    return str(meant) == str(done)


def filled_in(step, event):
    """The step as it is done for this event, as the journal keeps it."""
    return {
        "number": step["number"],
        "kind": step["kind"],
        "arguments": filled(step["arguments"], event),
        "before": None,
        "event": event["id"],
    }


def filled(value, event):
    """The same with what is known of this event in the place of marks."""
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
