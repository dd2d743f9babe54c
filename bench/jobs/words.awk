# SPDX-License-Identifier: MIT
# Counts and splits invented words. usage: gawk -v n=WORDS -f words.awk
BEGIN { s = 42
  for (i = 0; i < n; i++) { s = (s * 1103515 + 12345) % 2147483648; w = sprintf("%c%d", 97 + s % 26, s % 5000)
    count[w]++; line = line " " w
    if (i % 200 == 199) { k = split(line, part); for (j = 1; j <= k; j++) seen[part[j], i] = toupper(part[j]); line = ""
      if (i % 4000 == 3999) delete seen } }
  print length(count) }
