# SPDX-License-Identifier: MIT
# Makes records, groups and sums them. N is replaced by a number.
[range(N) | {id: ., name: "customer \(. * 7919 % 1009)", tags: ["a\(. % 7)", "b"], total: (. / 7)}]
| group_by(.name) | map({name: .[0].name, n: length, total: (map(.total) | add), text: (map(.id | tostring) | join(","))}) | tojson | length
