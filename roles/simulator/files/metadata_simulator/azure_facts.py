# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Azure documents, or was seen to do: versions, fields, times, words."""

PREVIEW_VERSION = "2017-03-01"
# In use, and in none of Microsoft's pages: the version that shows advisories.
ADVISORY_VERSION = "2024-07-09"
EVENT_VERSIONS = (
    "2017-03-01",
    "2017-08-01",
    "2017-11-01",
    "2019-01-01",
    "2019-04-01",
    "2019-08-01",
    "2020-07-01",
    ADVISORY_VERSION,
)
ADVISORY = "Advisory"
SPOT_ADVISORY = "SpotRebalanceRecommendation"
EVENT_TYPE_SINCE = {"Preempt": "2017-11-01", "Terminate": "2019-01-01", SPOT_ADVISORY: ADVISORY_VERSION}
EVENT_FIELD_SINCE = {"Description": "2019-04-01", "EventSource": "2019-08-01", "DurationInSeconds": "2020-07-01"}

# A separate list: these versions do not answer for events, and most event versions do not answer here.
INSTANCE_VERSIONS = (
    "2017-03-01",
    "2017-04-02",
    "2017-08-01",
    "2017-10-01",
    "2017-12-01",
    "2018-02-01",
    "2018-04-02",
    "2018-10-01",
    "2019-02-01",
    "2019-03-11",
    "2019-04-30",
    "2019-06-01",
    "2019-06-04",
    "2019-08-01",
    "2019-08-15",
    "2019-11-01",
    "2020-06-01",
    "2020-07-15",
    "2020-09-01",
    "2020-10-01",
    "2020-12-01",
    "2021-01-01",
    "2021-02-01",
    "2021-03-01",
    "2021-05-01",
    "2021-08-01",
    "2021-10-01",
    "2021-11-01",
    "2021-11-15",
    "2021-12-13",
    "2023-07-01",
    "2023-11-15",
    "2024-03-15",
    "2024-07-17",
    "2025-04-07",
)

COMPUTE_FIELD_SINCE = {
    "additionalCapabilities": "2021-11-01",
    "azEnvironment": "2018-10-01",
    "customData": "2019-02-01",
    "evictionPolicy": "2020-12-01",
    "extendedLocation": "2021-03-01",
    "host": "2021-11-15",
    "hostGroup": "2021-11-15",
    "isHostCompatibilityLayerVm": "2020-06-01",
    "licenseType": "2020-09-01",
    "location": "2017-04-02",
    "name": "2017-04-02",
    "offer": "2017-04-02",
    "osProfile": "2020-07-15",
    "osProfile.disablePasswordAuthentication": "2020-10-01",
    "osType": "2017-04-02",
    "physicalZone": "2023-11-15",
    "placementGroupId": "2017-08-01",
    "plan": "2018-04-02",
    "platformFaultDomain": "2017-04-02",
    "platformSubFaultDomain": "2021-10-01",
    "platformUpdateDomain": "2017-04-02",
    "priority": "2020-12-01",
    "provider": "2018-10-01",
    "publicKeys": "2018-04-02",
    "publisher": "2017-04-02",
    "resourceGroupName": "2017-08-01",
    "resourceId": "2019-03-11",
    "securityProfile": "2020-06-01",
    "securityProfile.encryptionAtHost": "2021-11-01",
    "securityProfile.securityType": "2021-12-13",
    "sku": "2017-04-02",
    "storageProfile": "2019-06-01",
    "storageProfile.resourceDisk": "2021-02-01",
    "subscriptionId": "2017-08-01",
    "tags": "2017-08-01",
    "tagsList": "2019-06-04",
    "userData": "2021-01-01",
    "version": "2017-04-02",
    "virtualMachineScaleSet": "2021-03-01",
    "vmId": "2017-04-02",
    "vmScaleSetName": "2017-12-01",
    "vmSize": "2017-04-02",
    "zone": "2017-12-01",
}

# Documented fields that a simulated VM has no value for: they are empty, as in Azure, and never missing.
EMPTY_COMPUTE_FIELDS = {
    "additionalCapabilities": {"hibernationEnabled": "false"},
    "customData": "",
    "extendedLocation": {"name": "", "type": ""},
    "host": {"id": ""},
    "hostGroup": {"id": ""},
    "isHostCompatibilityLayerVm": "false",
    "licenseType": "",
    "physicalZone": "",
    "plan": {"name": "", "product": "", "publisher": ""},
    "platformSubFaultDomain": "",
    "publicKeys": [],
    "securityProfile": {
        "encryptionAtHost": "false",
        "secureBootEnabled": "false",
        "securityType": "",
        "virtualTpmEnabled": "false",
    },
    "storageProfile": {
        "dataDisks": [],
        "imageReference": {"id": "", "offer": "", "publisher": "", "sku": "", "version": ""},
        "osDisk": {},
        "resourceDisk": {"size": "0"},
    },
    "userData": "",
}

NOTICE_SECONDS = {"Freeze": 900, "Reboot": 900, "Redeploy": 600, "Preempt": 30, "Terminate": 300, SPOT_ADVISORY: 30}
DEFAULT_NOTICE_SECONDS = 900
# What the owner of a scale set may choose, from the shortest to the longest.
TERMINATE_NOTICE_SECONDS = (300, 900)
# From the end of the impact until the event is removed; all of the time in Started where the impact is a short one.
DEFAULT_DWELL_SECONDS = 600
# A platform reboot takes some 25 minutes, and its event stays for ten more.
PLATFORM_REBOOT_SECONDS = 2100
# What Azure waits at least between two domains of a set.
DOMAIN_PAUSE_SECONDS = 1800
FREEZE_SECONDS = 5
UNKNOWN_DURATION = -1

FAILURE = "Virtual machine has encountered a failure."
LIVE_MIGRATION = "Virtual machine is being paused because of a memory-preserving Live Migration operation."
DESCRIPTIONS = {
    ("Freeze", "Platform"): "Host server is undergoing maintenance.",
    ("Reboot", "Platform"): "Host server is undergoing maintenance.",
    ("Redeploy", "Platform"): FAILURE,
    ("Reboot", "User"): "Virtual machine is going to be restarted as requested by authorized user.",
    ("Redeploy", "User"): "Virtual machine is going to be redeployed as requested by authorized user.",
}

# Ready-made events for a rehearsal by hand; what the user writes next to "scenario" wins.
SCENARIOS = {
    "live_migration": {"type": "Freeze", "dwell": 300, "duration": 5, "description": LIVE_MIGRATION},
    "host_maintenance": {"type": "Freeze", "duration": 9},
    "user_reboot": {"type": "Reboot", "source": "User"},
    "user_redeploy": {"type": "Redeploy", "source": "User", "notice": 900},
    "platform_redeploy": {"type": "Redeploy", "notice": 900},
    "cancelled_maintenance": {"type": "Freeze", "duration": 9, "cancel_after": 480},
    "hardware_failure": {"type": "Reboot", "status": "Started", "description": FAILURE},
    "predicted_failure": {"type": "Redeploy", "notice": 5 * 86400},
    "spot_eviction": {"type": "Preempt"},
    "spot_advisory": {"type": SPOT_ADVISORY},
    "scale_in": {"type": "Terminate"},
}
