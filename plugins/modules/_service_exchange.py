#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: _service_exchange
short_description: "[INTERNAL] The host half of the modules that talk to the metadata service"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] Asks the metadata service on a managed host and returns its answers as they came."
  - This is what C(maintenance.azure.scheduled_event_info) and its siblings run on the host. There is no reason to use
    it in a playbook. It understands nothing and checks nothing, so an approval that is sent with it is not looked at.
extends_documentation_fragment:
  - maintenance.azure._attributes
attributes:
  check_mode:
    support: partial
    details: Reads, but sends no approval.
  diff_mode:
    support: none
options:
  endpoints:
    description: Base URLs to try, in order. V(auto) stands for the usual one and those that DHCP names.
    type: list
    elements: str
    required: true
  api_version:
    description: The version of the Scheduled Events interface to ask for. V(auto) stands for the newest that is there.
    type: str
    required: true
  with_instance:
    description: Whether to ask the instance metadata too, for who this VM is.
    type: bool
    default: true
  timeout:
    description: Seconds for all requests.
    type: int
    required: true
  approval:
    description: Send an approval, if the event document is still the expected one.
    type: dict
    suboptions:
      expected:
        description: The event document that the approval was decided on.
        type: str
      expected_sha256:
        description: The digest of that document, in its place.
        type: str
      marking:
        description: >-
          In a run of C(drain_then_approve), what is written into the journal before it is sent, and what the host
          compares.
        type: dict
      body:
        description: The body of the request.
        type: str
        required: true
  renewal:
    description: The C(path) of a journal and the C(run_id) of the run that is still at work on this host.
    type: dict
  journal:
    description: The path of a journal that is read along with it.
    type: str
  mark:
    description: The C(path) of the mark by which a watcher knows that a run is there, and the C(run_id) of the run.
    type: dict
"""

EXAMPLES = r"""
- name: Ask the service, as the other modules do
  maintenance.azure._service_exchange:
    endpoints: [http://169.254.169.254]
    api_version: "2020-07-01"
    timeout: 130
"""

RETURN = r"""
answers:
  description:
    - The C(endpoint) that answered, the C(api_version) that it was asked for, its answer about C(events) and, if asked,
      about this C(instance), each with C(status), C(headers), C(body) and the time C(at) which it came.
    - For an approval also whether it was C(sent), and the C(problem), if there was one.
  type: dict
  returned: success
reading:
  description: With O(journal), all the above, or the failure.
  type: dict
  returned: with journal
kept:
  description: What the C(journal) holds or why it could not be read, in the C(msg).
  type: dict
  returned: with journal
clock:
  description: The host's own time before it was asked.
  type: dict
  returned: with journal
run_mark:
  description: Whether the host has C(reflexes), and whether the mark of the run could be C(left) there.
  type: dict
  returned: with journal
kind:
  description: What kind of failure it was, in one word.
  type: str
  returned: failure
status:
  description: The HTTP status that the failure came with.
  type: int
  returned: failure
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host.exchange import carried_out


def main():
    module = AnsibleModule(
        argument_spec=dict(
            endpoints=dict(type="list", elements="str", required=True),
            api_version=dict(type="str", required=True),
            with_instance=dict(type="bool", default=True),
            timeout=dict(type="int", required=True),
            approval=dict(
                type="dict",
                options=dict(
                    expected=dict(type="str"),
                    expected_sha256=dict(type="str"),
                    body=dict(type="str", required=True),
                    marking=dict(type="dict"),
                ),
            ),
            renewal=dict(type="dict"),
            journal=dict(type="str"),
            mark=dict(type="dict"),
        ),
        supports_check_mode=True,
    )
    result = carried_out(module.params, module.check_mode)
    if result.get("failed"):
        module.fail_json(**result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
