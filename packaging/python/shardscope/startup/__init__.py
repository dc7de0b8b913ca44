# SPDX-License-Identifier: Apache-2.0
"""A folder for PYTHONPATH: what is in it runs at the start of a Python process."""
