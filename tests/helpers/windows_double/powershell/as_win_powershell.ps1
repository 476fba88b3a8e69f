# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Runs a script as win_powershell does, which itself needs Windows: what it has ready for it, and what it takes from it.
param ([string]$Script, [string]$Parameters, [string]$CheckMode)

Import-Module WindowsDouble
$checks = $CheckMode -eq 'true'
# The module begins with a change, and a script says that there is none.
$Ansible = [pscustomobject]@{ CheckMode = $checks; Changed = $true; Result = @{} }
$given = @{}
(ConvertFrom-Json $Parameters).psobject.Properties | ForEach-Object { $given[$_.Name] = $_.Value }
# All of ours say that they know what to do in check mode.
$given.Confirm = $false
$given.WhatIf = $checks
try {
    $null = & $Script @given
    $answer = @{ changed = $Ansible.Changed; result = $Ansible.Result }
}
catch { $answer = @{ failed = $true; changed = $Ansible.Changed; error = @("$_") } }
# As deep as the module goes.
ConvertTo-Json -Compress -Depth 2 $answer
