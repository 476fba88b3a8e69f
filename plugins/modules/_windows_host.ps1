#!powershell
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# What a Windows host does for the controller: small actions, in the order given, the first that has a problem is the last.
# Windows PowerShell 5.1 and PowerShell 7. Everything that decides is Python on the controller.

#AnsibleRequires -CSharpUtil Ansible.Basic

$ErrorActionPreference = 'Stop'

$module = [Ansible.Basic.AnsibleModule]::Create($args, @{
        options = @{
            actions = @{ type = 'list'; elements = 'dict'; required = $true }
        }
        # What a journal holds may be secret: nothing of it goes into the event log.
        no_log = $true
        supports_check_mode = $true
    })

# Windows PowerShell 5.1 has no variable IsWindows, and runs nowhere else. OS is for a double of Windows, elsewhere.
$onWindows = -not (Test-Path Variable:IsWindows) -or $IsWindows -or $env:OS -eq 'Windows_NT'
$system = 'S-1-5-18'
$administrators = 'S-1-5-32-544'

function Get-Cause($exception) {
    while ($exception.InnerException) { $exception = $exception.InnerException }
    return $exception
}

function Get-Word($cause) {
    # Some .NETs put the address behind what a socket says, in a form of their own. The controller knows the address.
    if ($cause -isnot [System.Net.Sockets.SocketException]) { return $cause.Message }
    return (New-Object System.Net.Sockets.SocketException ([int]$cause.SocketErrorCode)).Message
}

function Get-Digest([byte[]]$bytes) {
    $sha = [System.Security.Cryptography.SHA256]::Create()
    return ([System.BitConverter]::ToString($sha.ComputeHash($bytes)) -replace '-').ToLowerInvariant()
}

function Get-BodyDigest([byte[]]$answer) {
    # Of what follows the head, as it came over the wire.
    for ($i = 0; $i -lt $answer.Length - 3; $i++) {
        if ($answer[$i] -eq 13 -and $answer[$i + 1] -eq 10 -and $answer[$i + 2] -eq 13 -and $answer[$i + 3] -eq 10) {
            $rest = $answer.Length - $i - 4
            $body = New-Object byte[] $rest
            [System.Array]::Copy($answer, $i + 4, $body, 0, $rest)
            return Get-Digest $body
        }
    }
    return $null
}

function Send-Bytes($action) {
    # One connection, one request, all bytes that come back until the other side ends, the time is up or it is too much.
    $client = New-Object System.Net.Sockets.TcpClient
    $clock = [System.Diagnostics.Stopwatch]::StartNew()
    try {
        try {
            $pending = $client.BeginConnect([string]$action.address, [int]$action.port, $null, $null)
            if (-not $pending.AsyncWaitHandle.WaitOne([int]$action.connect_ms)) {
                return @{ problem = 'not_accepted'; said = 'no answer to the connection attempt' }
            }
            $client.EndConnect($pending)
        }
        catch {
            $cause = Get-Cause $_.Exception
            $kind = 'not_accepted'
            if ($cause -is [System.Net.Sockets.SocketException] -and $cause.SocketErrorCode -in 'HostNotFound', 'NoData', 'TryAgain') {
                $kind = 'not_resolved'
            }
            return @{ problem = $kind; said = (Get-Word $cause) }
        }
        $found = New-Object System.IO.MemoryStream
        $problem = $null
        $said = $null
        try {
            $stream = $client.GetStream()
            $request = [System.Convert]::FromBase64String($action.request)
            $stream.Write($request, 0, $request.Length)
            $buffer = New-Object byte[] 65536
            while ($true) {
                $left = [int]$action.total_ms - $clock.ElapsedMilliseconds
                if ($left -le 0) { $problem = 'timed_out'; break }
                $stream.ReadTimeout = $left
                $count = $stream.Read($buffer, 0, $buffer.Length)
                if ($count -eq 0) { break }
                $found.Write($buffer, 0, $count)
                if ($found.Length -gt [int]$action.largest) { $problem = 'too_large'; break }
            }
        }
        catch {
            $problem = 'broken'
            if ($clock.ElapsedMilliseconds -ge [int]$action.total_ms) { $problem = 'timed_out' }
            $said = Get-Word (Get-Cause $_.Exception)
        }
        $script:lastBody = Get-BodyDigest $found.ToArray()
        return @{
            problem = $problem
            said = $said
            answer = [System.Convert]::ToBase64String($found.ToArray())
            body_sha256 = $script:lastBody
        }
    }
    finally { $client.Close() }
}

function Get-Owner([string]$path) {
    return (Get-Acl -LiteralPath $path).GetOwner([System.Security.Principal.SecurityIdentifier]).Value
}

function Get-Me {
    # The type by its name, so that a double can take its place.
    return ([type]'System.Security.Principal.WindowsIdentity')::GetCurrent().User.Value
}

function Get-Doubt([string]$path) {
    # A link, or what somebody else could have made, is not trusted.
    $item = Get-Item -LiteralPath $path -Force
    if ($item.Attributes -band [System.IO.FileAttributes]::ReparsePoint) { return "$path is a link, which is not followed" }
    if ($onWindows) {
        $owner = Get-Owner $path
        if ($owner -notin @($system, $administrators, (Get-Me))) {
            return "$path belongs to $owner, not to SYSTEM, the Administrators or this user"
        }
    }
    return $null
}

function Set-Owner([string]$path) {
    # The run of another administrator trusts what belongs to all of them.
    if (-not $onWindows -or (Get-Owner $path) -eq $administrators) { return }
    $null = & icacls.exe $path /setowner "*$administrators" 2>&1
    if ($LASTEXITCODE -ne 0) { throw "icacls ended with $LASTEXITCODE for the owner of $path" }
}

function New-Folder([string]$path) {
    # Below ProgramData every user may make files, so what is inherited goes.
    if ([System.IO.Directory]::Exists($path)) { return }
    $null = [System.IO.Directory]::CreateDirectory($path)
    if ($onWindows) {
        $null = & icacls.exe $path /inheritance:r /grant:r "*${system}:(OI)(CI)F" "*${administrators}:(OI)(CI)F" 2>&1
        if ($LASTEXITCODE -ne 0) { throw "icacls ended with $LASTEXITCODE for $path" }
        Set-Owner $path
    }
}

function Get-Boot($action) {
    # Windows counts its boots; the uptime is of a clock that nobody sets.
    $count = $null
    if ($onWindows) {
        $key = 'HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters'
        $count = (Get-ItemProperty -LiteralPath $key -Name BootId -ErrorAction SilentlyContinue).BootId
    }
    $uptime = [System.Math]::Round([System.Diagnostics.Stopwatch]::GetTimestamp() / [System.Diagnostics.Stopwatch]::Frequency, 1)
    $told = @{ count = $count; uptime = $uptime }
    # What follows in the list may depend on the boot, and on not being late.
    $another = $action.ContainsKey('same_count') -and $action.same_count -ne $count
    $early = $null -ne $action.uptime_from -and $uptime -lt [double]$action.uptime_from
    $late = $null -ne $action.uptime_to -and $uptime -gt [double]$action.uptime_to
    if ($another -or $early -or $late) {
        $told.problem = 'changed'
        $told.said = 'another boot, or too late'
    }
    return $told
}

function Read-File($action) {
    if (-not [System.IO.File]::Exists($action.path)) { return @{ content = $null; sha256 = $null } }
    $doubt = Get-Doubt ([System.IO.Path]::GetDirectoryName($action.path))
    if (-not $doubt) { $doubt = Get-Doubt $action.path }
    if ($doubt) { return @{ problem = 'not_trusted'; said = $doubt } }
    $length = (New-Object System.IO.FileInfo $action.path).Length
    if ($length -gt [int]$action.largest) { return @{ problem = 'too_large'; said = "$length bytes" } }
    $bytes = [System.IO.File]::ReadAllBytes($action.path)
    return @{ content = [System.Convert]::ToBase64String($bytes); sha256 = (Get-Digest $bytes) }
}

function Get-Mismatch($action, $there) {
    # With `or_stop`, what follows in the list is done only if this was.
    $result = @{ replaced = $false; sha256 = $there }
    if ($action.or_stop) {
        $result.problem = 'changed'
        $result.said = 'the file holds something else'
    }
    return $result
}

function Set-File($action) {
    # Puts new content in place of the expected one, whole or not at all. No content removes the file.
    $folder = [System.IO.Path]::GetDirectoryName($action.path)
    if (-not $module.CheckMode) { New-Folder $folder }
    elseif (-not [System.IO.Directory]::Exists($folder)) {
        if ($null -eq $action.expected) { return @{ replaced = $true; sha256 = $null } }
        return Get-Mismatch $action $null
    }
    # Any user can make a folder below ProgramData before we do.
    $doubt = Get-Doubt $folder
    if ($doubt) { return @{ problem = 'not_trusted'; said = $doubt } }
    $guard = $null
    $patience = [System.Diagnostics.Stopwatch]::StartNew()
    while (-not $module.CheckMode -and -not $guard) {
        try { $guard = [System.IO.File]::Open($action.path + '.guard', 'OpenOrCreate', 'ReadWrite', 'None') }
        catch [System.IO.IOException] {
            if ($patience.ElapsedMilliseconds -gt 10000) { return @{ problem = 'locked'; said = $_.Exception.Message } }
            Start-Sleep -Milliseconds 50
        }
    }
    try {
        $there = $null
        if ([System.IO.File]::Exists($action.path)) {
            $doubt = Get-Doubt $action.path
            if ($doubt) { return @{ problem = 'not_trusted'; said = $doubt } }
            $there = Get-Digest ([System.IO.File]::ReadAllBytes($action.path))
        }
        if (-not $action.whatever_is_there -and $there -ne $action.expected) { return Get-Mismatch $action $there }
        if ($module.CheckMode) { return @{ replaced = $true; sha256 = $there } }
        if ($null -eq $action.content) {
            [System.IO.File]::Delete($action.path)
            return @{ replaced = $true; sha256 = $null }
        }
        $bytes = [System.Convert]::FromBase64String($action.content)
        $fresh = $action.path + '.new'
        $file = New-Object System.IO.FileStream(
            $fresh, [System.IO.FileMode]::Create, [System.IO.FileAccess]::Write, [System.IO.FileShare]::None)
        try {
            $file.Write($bytes, 0, $bytes.Length)
            $file.Flush($true)
        }
        finally { $file.Dispose() }
        Set-Owner $fresh
        if ([System.IO.File]::Exists($action.path)) { [System.IO.File]::Replace($fresh, $action.path, [NullString]::Value) }
        else { [System.IO.File]::Move($fresh, $action.path) }
        Set-Owner $action.path
        return @{ replaced = $true; sha256 = (Get-Digest $bytes) }
    }
    finally { if ($guard) { $guard.Dispose() } }
}

function Invoke-Action($action) {
    # With `only_if`, nothing is done unless the answer to the `send` before had a body with this digest.
    if ($null -ne $action.only_if -and $action.only_if -ne $script:lastBody) {
        return @{ problem = 'changed'; said = 'the answer before is another one' }
    }
    switch ($action.action) {
        'send' { return Send-Bytes $action }
        'read' { return Read-File $action }
        'replace' { return Set-File $action }
        'boot' { return Get-Boot $action }
        default { return @{ problem = 'unknown'; said = "This host does not know the action $($action.action)" } }
    }
}

$script:lastBody = $null
$module.Result.results = @()
$module.Result.now = [System.DateTime]::UtcNow.ToString('yyyy-MM-ddTHH:mm:ss.fffZ', [System.Globalization.CultureInfo]::InvariantCulture)
foreach ($action in $module.Params.actions) {
    try { $result = Invoke-Action $action }
    catch { $result = @{ problem = 'failed'; said = (Get-Cause $_.Exception).Message } }
    $module.Result.results += $result
    if ($result.replaced) { $module.Result.changed = $true }
    if ($result.problem) { break }
}
$module.ExitJson()
