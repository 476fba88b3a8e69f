# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Keeps what it is told beside the disk of the machine, where machine.py finds it: owners.json, event_log, trouble.json.

$folder = $env:WINDOWS_DOUBLE_FOLDER

function Get-Me { return 'S-1-5-21-1-2-3-500' }

function Get-Kept([string]$name) {
    $kept = @{}
    $path = Join-Path $folder "$name.json"
    if (Test-Path -LiteralPath $path) {
        (Get-Content -LiteralPath $path -Raw | ConvertFrom-Json).psobject.Properties | ForEach-Object { $kept[$_.Name] = $_.Value }
    }
    return $kept
}

function Get-Acl([string]$LiteralPath) {
    # Who makes a file owns it, until somebody gives it away.
    $owner = (Get-Kept owners)[$LiteralPath]
    if (-not $owner) { $owner = Get-Me }
    $acl = [pscustomobject]@{ Owner = $owner }
    $acl | Add-Member -MemberType ScriptMethod -Name GetOwner -Value { [pscustomobject]@{ Value = $this.Owner } }
    return $acl
}

function icacls.exe {
    # Takes an owner, and who may do what below a folder. Refuses the rest, as the real one does.
    $path, $words = $args
    if (-not (Test-Path -LiteralPath $path)) { return Exit-With 2 "${path}: The system cannot find the file specified." }
    switch -Regex ($words -join ' ') {
        '^/setowner \*(S-1-[-\d]+)$' { Set-Kept owners $path $Matches[1]; return Exit-With 0 'Successfully processed 1 files' }
        '^/inheritance:r /grant:r( \*S-1-[-\d]+:\(OI\)\(CI\)F)+$' { Set-Kept rights $path $words; return Exit-With 0 'Successfully processed 1 files' }
    }
    return Exit-With 87 "Invalid parameter ""$words"""
}

function Exit-With([int]$code, [string]$said) {
    $global:LASTEXITCODE = $code
    return $said
}

function Set-Kept([string]$name, [string]$key, $value) {
    $kept = Get-Kept $name
    $kept[$key] = $value
    $fresh = Join-Path $folder "$name.$PID.new"
    ConvertTo-Json -InputObject $kept | Set-Content -LiteralPath $fresh
    Move-Item -LiteralPath $fresh -Destination (Join-Path $folder "$name.json") -Force
}

# Types that PowerShell finds here before it looks at those of .NET, which say on Linux that they are for Windows.

class IdentityDouble {
    static [object] GetCurrent() { return @{ User = @{ Value = (Get-Me) } } }
}

class EventLogDouble {
    static [string] Place([string]$name) { return (Join-Path $env:WINDOWS_DOUBLE_FOLDER $name) }

    static [bool] SourceExists([string]$source) { return Test-Path -LiteralPath ([EventLogDouble]::Place("event_source.$source")) }

    static [void] CreateEventSource([string]$source, [string]$log) {
        Set-Content -LiteralPath ([EventLogDouble]::Place("event_source.$source")) -Value $log
    }

    static [void] WriteEntry([string]$source, [string]$message, [string]$kind, [int]$id) {
        if (-not [EventLogDouble]::SourceExists($source)) { throw "The source $source is not registered" }
        if ($kind -notin 'Error', 'Warning', 'Information') { throw "Invalid value $kind for the type of an entry" }
        $entry = @{ Source = $source; Message = $message; EntryType = $kind; EventId = $id }
        Add-Content -LiteralPath ([EventLogDouble]::Place('event_log')) -Value (ConvertTo-Json -Compress $entry)
    }
}

class NetworkDouble {
    static [object] GetIPGlobalProperties() {
        $trouble = Get-Kept trouble
        # Not by its name, which is this double's.
        $real = [System.Net.NetworkInformation.TcpState].Assembly.GetType('System.Net.NetworkInformation.IPGlobalProperties')
        if (-not $trouble.ContainsKey('connections')) { return $real::GetIPGlobalProperties() }
        # As many as machine.py was told, all of them to a web server.
        $one = [pscustomobject]@{ State = 'Established'; LocalEndPoint = @{ Port = 443 } }
        $network = [pscustomobject]@{ Found = @($one) * $trouble.connections }
        $network | Add-Member -MemberType ScriptMethod -Name GetActiveTcpConnections -Value { $this.Found }
        return $network
    }
}

$known = [psobject].Assembly.GetType('System.Management.Automation.TypeAccelerators')
$known::Add('System.Security.Principal.WindowsIdentity', [IdentityDouble])
$known::Add('System.Diagnostics.EventLog', [EventLogDouble])
$known::Add('System.Net.NetworkInformation.IPGlobalProperties', [NetworkDouble])

# What a name stood for when it was met first is remembered, and ansible-core before 2.19 names one of them before we come.
[psobject].Assembly.GetType('System.Management.Automation.Language.TypeCache').GetFields('NonPublic,Static') |
    ForEach-Object { $_.GetValue($null).Clear() }
