# SPDX-License-Identifier: MIT
# Objects, strings, regular expressions, JSON, a compressed stream, a child process; ends with status 3.
import hashlib
import json
import re
import subprocess
import sys
import zlib

records = [{"id": i, "name": f"record {i}", "tags": [str(i * k % 97) for k in range(1, 9)]} for i in range(3000)]
text = json.dumps(records, sort_keys=True)
again = json.loads(text)
words = sorted(re.findall(r"record \d+", text), key=lambda word: word[::-1])
packed = zlib.compress("\n".join(words).encode(), 9)
child = subprocess.run([sys.executable, "-c", "print(sum(len(str(n)) for n in range(20000)))"], capture_output=True)
print(again == records, len(words), hashlib.sha256(text.encode()).hexdigest(), zlib.crc32(zlib.decompress(packed)))
print(child.stdout.decode().strip(), child.returncode)
sys.exit(3)
