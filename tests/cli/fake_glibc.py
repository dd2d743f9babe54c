#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""fake_glibc.py DIR [RELEASE]: makes DIR look like the directory that `make glibc` builds.

The loader and libc.so.6 are the system's own, so they run every program and record nothing. plimsoll recognises a glibc
with the profiler inside by a note. Here the note replaces the build-id, which has exactly the same size.
"""
import os
import platform
import re
import shutil
import struct
import subprocess
import sys


def interpreter():
    text = subprocess.run(["readelf", "-lW", "/bin/true"], capture_output=True, text=True, check=True).stdout
    return re.search(r"interpreter: (.*)\]", text).group(1)


def libc(loader):
    text = subprocess.run([loader, "--list", "/bin/true"], capture_output=True, text=True, check=True).stdout
    return re.search(r"libc\.so\.6 => (\S+)", text).group(1)


def note(name, kind, content):
    padded = name + bytes(-len(name) % 4)
    return struct.pack("<III", len(name), len(content), kind) + padded + content


def replace_build_id(path):
    image = open(path, "rb").read()
    start = re.search(struct.pack("<III", 4, 20, 3) + b"GNU\0", image).start()
    fake = note(b"Plimsoll\0", 1, bytes(12))
    with open(path, "r+b") as file:
        file.seek(start)
        file.write(fake)


def main(directory, release=platform.libc_ver()[1]):
    loader = interpreter()
    libraries = os.path.join(directory, "lib")
    os.makedirs(libraries)
    shutil.copy(loader, os.path.join(libraries, os.path.basename(loader)))
    shutil.copy(libc(loader), os.path.join(libraries, "libc.so.6"))
    replace_build_id(os.path.join(libraries, "libc.so.6"))
    with open(os.path.join(directory, "SOURCE"), "w") as source:
        source.write(f"release {release}\npackage none\n")


main(*sys.argv[1:])
