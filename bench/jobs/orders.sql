-- SPDX-License-Identifier: MIT
-- Fills a table, indexes it, joins and aggregates. ROWS is replaced by a number.
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, item TEXT, price REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ROWS)
INSERT INTO orders
SELECT i, 'customer ' || (i * 7919 % 997), printf('item-%05d', i * 104729 % 5003), i % 331 / 7.0 FROM n;
CREATE INDEX by_customer ON orders(customer);
SELECT count(*), sum(length(customer || item)) FROM orders;
SELECT customer, group_concat(substr(item, 6), ',') AS items
FROM orders GROUP BY customer ORDER BY length(items) DESC LIMIT 3;
SELECT count(*) FROM orders a JOIN orders b ON a.customer = b.customer AND a.id < b.id WHERE a.id % 100 = 1;
