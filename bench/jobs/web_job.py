# SPDX-License-Identifier: MIT
"""Answers requests with JSON, from a thread of its own: server and client in one process. usage: web_job.py REQUESTS"""

import http.client
import http.server
import json
import sys
import threading
import urllib.parse


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        wanted = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        rows = [{"id": n, "name": f"customer {n}", "of": wanted} for n in range(int(wanted["rows"][0]))]
        body = json.dumps(rows).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = http.client.HTTPConnection(*server.server_address)
rows = 0
for number in range(int(sys.argv[1])):
    client.request("GET", f"/customers?rows={number % 50}&sort=name")
    rows += len(json.loads(client.getresponse().read()))
client.close()
server.shutdown()
print(rows)
