# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What Windows PowerShell 5.1 does not know, in a script that has to run there. No PowerShell is needed for it.

It is a list of words, not a parser: what came with PowerShell 6 and 7 and is tempting.
"""

from __future__ import annotations

import re

# A here-string, a text in single quotes, one in double quotes, a block comment, a comment.
_NO_CODE = re.compile(
    r"@'\n.*?\n'@|@\"\n.*?\n\"@|'(?:[^']|'')*'|\"(?:`.|\"\"|[^\"`])*\"|<#.*?#>|(?<![\w`])#[^\n]*", re.DOTALL
)
LIMITS = {
    r"\?\?": "`??` is of PowerShell 7",
    r"\?\.|\?\[": "`?.` is of PowerShell 7",
    r"[\w)\]}]\s+\?\s+[^{]*?\s:\s": "the ternary operator is of PowerShell 7",
    r"&&|\|\|": "`&&` and `||` are of PowerShell 7",
    r"(?i)-AsHashtable\b": "ConvertFrom-Json -AsHashtable is of PowerShell 6",
    r"(?i)\.ArgumentList\b": "ProcessStartInfo.ArgumentList is of .NET Core",
    r"(?i)File\]::Move\(([^(),]*,){2}[^(),]*\)": "File.Move with overwrite is of .NET Core",
    r"(?i)File\]::Replace\([^)]*,\s*\$null\s*\)": "a $null becomes an empty text: [NullString]::Value",
    r"(?i)ForEach-Object\s+-Parallel\b": "ForEach-Object -Parallel is of PowerShell 7",
    r"(?i)-SkipCertificateCheck\b": "-SkipCertificateCheck is of PowerShell 6",
    r"(?i)\b(?:Test-Json|Join-String|Get-Error|ConvertTo-CliXml)\b": "that command is newer than 5.1",
    r"(?i)(?m)^\s*clean\s*\{": "a clean block is of PowerShell 7.3",
    r"(?i)\$PSStyle\b": "$PSStyle is of PowerShell 7.2",
}


def complaints(script: str) -> list[str]:
    """One sentence for each thing that 5.1 can't do."""
    found = []
    if not script.isascii():
        found.append("5.1 takes a file without a mark for one of the local code page: only ASCII is safe")
    code = _NO_CODE.sub(lambda text: "''" if text.group(0)[0] in "@'\"" else "", script)
    for pattern, sentence in LIMITS.items():
        hit = re.search(pattern, code)
        if hit:
            found.append(f"line {code[: hit.start()].count(chr(10)) + 1}: {sentence}")
    return found
