# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Writes one entry into the log Application.
[CmdletBinding(SupportsShouldProcess = $true)]
param ([string]$Source, [string]$Message, [string]$EntryType)

$ErrorActionPreference = 'Stop'
if (-not $Ansible.CheckMode) {
    if (-not [System.Diagnostics.EventLog]::SourceExists($Source)) { [System.Diagnostics.EventLog]::CreateEventSource($Source, 'Application') }
    # One message, one line, as on other hosts; and no entry is longer than 32 KB.
    $line = ($Message -split '\s+') -join ' '
    if ($line.Length -gt 31000) { $line = $line.Substring(0, 31000) }
    [System.Diagnostics.EventLog]::WriteEntry($Source, $line, $EntryType, 1)
}
$Ansible.Changed = $true
