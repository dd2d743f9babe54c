-- SPDX-License-Identifier: MIT
-- Tables, indexes, joins, a window function, a transaction rolled back.
PRAGMA temp_store = MEMORY;
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, amount INTEGER, note TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
INSERT INTO orders SELECT i, i * 7919 % 503, i * 31 % 1009, 'order ' || hex(i) || printf('%0*d', i % 60, i) FROM n;
CREATE INDEX by_customer ON orders (customer, amount);
BEGIN;
DELETE FROM orders WHERE amount % 3 = 0;
ROLLBACK;
SELECT count(*), sum(amount), sum(length(note)) FROM orders;
SELECT customer, sum(amount) AS total FROM orders GROUP BY customer ORDER BY total DESC, customer LIMIT 5;
SELECT count(*) FROM orders AS a JOIN orders AS b USING (customer) WHERE a.amount < b.amount AND customer < 40;
SELECT max(gap) FROM (SELECT amount - lag(amount) OVER (PARTITION BY customer ORDER BY id) AS gap FROM orders);
SELECT group_concat(note, ';') FROM (SELECT note FROM orders WHERE note LIKE '%77%' ORDER BY id LIMIT 5);
