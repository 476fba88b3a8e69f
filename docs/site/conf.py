# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of Sphinx for `make docs`: the guides as they stand in docs/, and the reference pages of antsibull-docs."""

project = "maintenance.azure"
copyright = "2026, maintenance.azure contributors"  # noqa: A001  (Sphinx wants this name)

extensions = ["myst_parser", "sphinx.ext.intersphinx", "sphinx_antsibull_ext"]
include_patterns = ["index.rst", "README.md", "CONTRIBUTING.md", "docs/*.md", "roles/*/README.md", "reference/**"]

html_theme = "sphinx_ansible_theme"
html_show_sphinx = False
html_copy_source = False
pygments_style = "ansible"
highlight_language = "YAML+Jinja"

# Links such as waves.md#your-own-domains work here as they do where the repository is browsed.
myst_heading_anchors = 3

# Made by build.py, so that a build needs no network.
intersphinx_mapping = {"ansible": ("https://docs.ansible.com/ansible/latest/", "ansible.inv")}
