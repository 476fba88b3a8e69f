# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
@{
    ModuleVersion = '1.0.0'
    Description = 'What Windows has and a PowerShell on Linux has not, as far as our scripts call it. For tests.'
    RootModule = 'WindowsDouble.psm1'
    # By these names PowerShell finds the module when one of them is called.
    FunctionsToExport = @('Get-Acl', 'icacls.exe')
    CmdletsToExport = @()
    AliasesToExport = @()
    VariablesToExport = @()
}
