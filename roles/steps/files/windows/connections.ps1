# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Waits until few enough established connections are left on some ports, or the time is over. Returns how many are left.
[CmdletBinding(SupportsShouldProcess = $true)]
param ([int[]]$Ports, [int]$AtMost, [int]$Seconds)

$ErrorActionPreference = 'Stop'
$clock = [System.Diagnostics.Stopwatch]::StartNew()
while ($true) {
    $connections = [System.Net.NetworkInformation.IPGlobalProperties]::GetIPGlobalProperties().GetActiveTcpConnections()
    $left = @($connections | Where-Object { $_.State -eq 'Established' -and $Ports -contains $_.LocalEndPoint.Port }).Count
    if ($left -le $AtMost -or $Ansible.CheckMode -or $clock.Elapsed.TotalSeconds -ge $Seconds) { break }
    Start-Sleep -Milliseconds 500
}
$Ansible.Changed = $false
$Ansible.Result = @{ established = $left }
