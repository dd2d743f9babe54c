-- SPDX-License-Identifier: MIT
-- Builds tables of strings and closures, counts and joins words, and ends without freeing them. usage: tables.lua WORDS
local n = tonumber(arg[1])
local seed = 42
local function random(m) seed = (seed * 1103515245 + 12345) % 2147483648; return seed % m + 1 end
local words, count, keep = {}, {}, {}
for i = 1, n do words[i] = string.rep(string.char(97 + i % 26), random(20)) .. i end
for i = 1, n do local word = words[random(n)]; count[word] = (count[word] or 0) + 1 end
for i = 1, n // 4 do keep[i] = {words[i], i, function() return i end} end
for i = 1, 20 do local text = table.concat(words, ",", 1, n // 8):upper() end
print(#keep)
os.exit(0, false)
