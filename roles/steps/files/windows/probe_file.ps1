# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The probe file of a load balancer: look at it, remove it, create it where there is none, or put it back as it was.
[CmdletBinding(SupportsShouldProcess = $true)]
param ([string]$Path, [string]$Action, [string]$Content, [int]$Wait)

$ErrorActionPreference = 'Stop'
$largest = 65536

function Get-Probe {
    if (-not (Test-Path -LiteralPath $Path)) { return $null }
    $item = Get-Item -LiteralPath $Path -Force
    if ($item.PSIsContainer -or ($item.Attributes -band [System.IO.FileAttributes]::ReparsePoint)) { throw "$Path is not a plain file" }
    if ($item.Length -gt $largest) { throw "$Path is larger than a probe file can be ($largest bytes)" }
    return @{ content = [System.Convert]::ToBase64String([System.IO.File]::ReadAllBytes($Path)) }
}

$found = Get-Probe
$Ansible.Result = @{ file = $found }
$changes = $false
if ($Action -eq 'remove') { $changes = $null -ne $found }
if ($Action -eq 'create') { $changes = $null -eq $found }
if ($Action -eq 'put') { $changes = $null -eq $found -or $found.content -ne $Content }
$Ansible.Changed = $changes
if ($changes -and -not $Ansible.CheckMode) {
    if ($Action -eq 'remove') { [System.IO.File]::Delete($Path) }
    else { [System.IO.File]::WriteAllBytes($Path, [System.Convert]::FromBase64String($Content)) }
}
# For the probe to notice.
if ($Wait -gt 0 -and -not $Ansible.CheckMode) { Start-Sleep -Seconds $Wait }
