# SPDX-License-Identifier: MIT
# A server under load from a benchmark, then questions with known answers; it forks to save itself.
# Ends with the server's status.
set -e
client() {
    redis-cli -s "$PWD/redis.sock" "$@"
}
redis-server --port 0 --unixsocket "$PWD/redis.sock" --save '' --appendonly no --dir "$PWD" --logfile "$PWD/redis.log" &
server=$!
trap 'kill -9 $server 2>/dev/null' ERR
for i in $(seq 1 200); do
    client ping 2>/dev/null | grep -q PONG && break
    sleep 0.05
done
redis-benchmark -s "$PWD/redis.sock" -n 4000 -c 8 -P 4 -r 1000 -t set,get,lpush,lpop,sadd,hset,zadd,mset >benchmark.log
client flushall
for i in $(seq 1 40); do
    echo "SET key:$i $(seq -s, $i $((i + 50)))"
    echo "ZADD ranks $((i * 37 % 41)) member:$i"
    echo "HSET table field:$i value:$i"
    echo "RPUSH list item:$i"
done | client | sort | uniq -c
client dbsize
client strlen key:7
client zrange ranks 0 4 withscores
client bgsave
for i in $(seq 1 200); do
    client info persistence | grep -q 'rdb_bgsave_in_progress:0' && break
    sleep 0.05
done
client info persistence | grep rdb_last_bgsave_status
client shutdown nosave || true
wait $server
