# SPDX-License-Identifier: MIT
"""Does nothing: what it costs to start and to end. usage: nothing_job.py WORK"""
