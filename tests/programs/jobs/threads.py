# SPDX-License-Identifier: MIT
# Four threads that also allocate without the interpreter's lock: compression and hashing release it.
import hashlib
import threading
import zlib

found = [None] * 4


def work(number):
    parts = [zlib.compress(bytes([number, i % 251]) * 4000) for i in range(200)]
    found[number] = hashlib.sha256(b"".join(parts)).hexdigest()


threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*found, sep="\n")
