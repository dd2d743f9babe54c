# SPDX-License-Identifier: MIT
"""Writes records as JSON and reads them back, like a web service. usage: json_job.py ROUNDS"""

import json
import sys

records = [{"id": n, "name": f"customer {n}", "tags": ["a" * (n % 7), "b"], "total": n / 7} for n in range(2000)]
for _ in range(int(sys.argv[1])):
    text = json.dumps(records)
    records = json.loads(text)
print(len(text))
