# SPDX-License-Identifier: MIT
"""Builds, writes, reads and searches a document, as xml_etree of pyperformance does. usage: xml_job.py ROUNDS"""

import sys
import xml.etree.ElementTree as tree

found = 0
for _ in range(int(sys.argv[1])):
    root = tree.Element("orders")
    for number in range(1500):
        order = tree.SubElement(root, "order", {"id": str(number), "customer": f"c{number % 97}"})
        for line in range(3):
            tree.SubElement(order, "line", price=f"{number * line}.99").text = f"article {line}"
    again = tree.fromstring(tree.tostring(root))
    found += len(again.findall(".//line[@price='99.99']"))
print(found)
