# SPDX-License-Identifier: MIT
# The JSON: that it is JSON, that it is the documented schema, and that it says what the profile says.

load support

check() {
    PYTHONDONTWRITEBYTECODE=1 python3 "$PLIMSOLL_SOURCE/tests/cli/schema.py" "$PLIMSOLL_SOURCE/docs/json.md" "$@"
}

@test "every made-up profile exports by the documented schema" {
    for scenario in empty leak inlined losses hostile-names duplicates killed threads deep exact auto 1k-stacks; do
        forge $scenario
        "$plimsoll" export --format json $scenario.plim -o $scenario.json 2>/dev/null
        check $scenario.json
    done
}

@test "a real profile exports by the documented schema" {
    "$plimsoll" run -q -s 16K -o out.plim -- "$(program cli-leaky)" || [ $? -eq 3 ]
    "$plimsoll" export out.plim >out.json
    check out.json
    [ "$(jq -r '.process.ended' out.json)" = "exited 3" ]
    [ "$(jq -r '.process.exit_status' out.json)" = 3 ]
    jq -e '.frames | any(.function == "keep_block" and (.file | endswith("leaky.c")) and .line > 0)' out.json
}

@test "a real profile in which everything was counted exports by the documented schema" {
    "$plimsoll" run -q --exact -o out.plim -- "$(program cli-leaky)" || [ $? -eq 3 ]
    "$plimsoll" export out.plim >out.json
    check out.json
    jq -e '.sampling.exact and .sampling.exact_calls == .totals.alloc_objects.value' out.json
    jq -e '.sampling.exact_calls == ([.sites[].alloc_objects.value] | add)' out.json
    jq -e '(.totals.ages | add) == .totals.inuse_objects.value and (.totals.sizes | add) == .sampling.exact_calls' out.json
    jq -e '.totals.peak_space.value >= .totals.inuse_space.value and (.timeline | length) > 0' out.json
}

@test "a schema check that finds nothing wrong can find something wrong" {
    forge leak
    "$plimsoll" export leak.plim >leak.json
    jq 'del(.sites[0].inuse_space.error)' leak.json >bad.json
    fails check bad.json
    jq '.surprise = 1' leak.json >bad.json
    fails check bad.json
    jq '.stacks[0][0] = 100000' leak.json >bad.json
    fails check bad.json
    forge exact
    "$plimsoll" export exact.plim >exact.json
    jq '.snapshots[0].sites[0].site = 100000' exact.json >bad.json
    fails check bad.json
    jq '.timeline |= reverse' exact.json >bad.json
    fails check bad.json
}

@test "figures are those of the profile" {
    forge leak
    "$plimsoll" export leak.plim >leak.json
    [ "$(jq '.totals.alloc_objects.value' leak.json)" = 413919 ]
    [ "$(jq '.totals.alloc_objects.error' leak.json)" = 0 ]
    [ "$(jq '.totals.alloc_space.value' leak.json)" = 109220761 ]
    [ "$(jq '.totals.functions.malloc' leak.json)" = 413919 ]
    [ "$(jq '.sampling.interval_bytes, .sampling.samples' leak.json | xargs)" = "524288 101" ]
    jq -e '.totals.inuse_space | .low <= .value and .value <= .high and .error > 0' leak.json
    jq -e '(.totals.inuse_space.value - ([.sites[].inuse_space.value] | add)) | fabs < 1' leak.json
}

@test "what was counted is exact, and everything that was recorded is there" {
    forge exact
    "$plimsoll" export exact.plim >exact.json
    [ "$(jq -r '.sampling.method' exact.json)" = "exact: all 6,014 allocations" ]
    jq -e '.sampling.exact and .sampling.samples == 0 and .sampling.exact_calls == 6014' exact.json
    jq -e '[.totals, .sites[] | .. | objects | select(has("error")).error] | max == 0' exact.json
    jq -e '.totals | .inuse_objects.value == 1000 and .peak_space.value == 8436608 and .temp_objects.value == 3500' exact.json
    jq -e '.totals | .smallest == 24 and .largest == 8388608 and .sizes[1] == 5000 and .ages == [200,200,200,200,200]' exact.json
    jq -e '.totals.reallocs == {"calls": 13, "in_place": 2, "moved_bytes": 8385536}' exact.json
    jq -e '.totals.freed_at_exit == {"blocks": 30, "bytes": 720}' exact.json
    jq -e '.peak.time_s > 8.5 and .peak.time_s < 8.6 and .process.exit_s == 12.7' exact.json
    jq -e '.cost == {"profiler_cpu_s": 0.061, "process_cpu_s": 12}' exact.json
    jq -e '(.timeline | length) == 16 and (.snapshots[1].sites | map(.bytes)) == [8388608, 28800]' exact.json
    jq -e '. as $p | [.snapshots[1].sites[0].site | $p.frames[$p.stacks[$p.sites[.].stack][0]].function] == ["rows_grow"]' exact.json
}

@test "counted and sampled parts of a profile are one figure, and it says so" {
    forge auto
    "$plimsoll" export auto.plim >auto.json
    [ "$(jq -r '.sampling.method' auto.json)" \
        = "exact for the first 400,000 allocations, then sampled about every 96 KiB; ± is 95%" ]
    jq -e '.sites[0] | .exact_calls == 400000 and .samples == 1800 and .alloc_objects.low > 401800' auto.json
    jq -e '.auto | .overhead == 0.02 and .left_exact == 1 and .exact_calls == 400000 and .interval_bytes == 98304' auto.json
}

@test "stacks are frame indexes, innermost first" {
    forge leak
    "$plimsoll" export leak.plim >leak.json
    names=$(jq -r '. as $p | [.stacks[] | [.[] | $p.frames[.].function] | join("<")] | sort | .[]' leak.json)
    grep -x 'index_add_term<index_file<main<_start' <<<"$names"
    grep -x 'string_new<parse_line<index_file<main<_start' <<<"$names"
}

@test "inlined functions are frames of their own" {
    forge inlined
    "$plimsoll" export inlined.plim >inlined.json
    [ "$(jq -r '. as $p | .stacks[0] | [.[] | $p.frames[.] | .function + (if .inlined then "*" else "" end)] | join(" < ")' inlined.json)" \
        = "std::vector<Row>::push_back* < Table::add <  < main" ]
}

@test "an overflow site has no stack" {
    forge losses
    "$plimsoll" export losses.plim >losses.json
    [ "$(jq '[.sites[] | select(.stack == null)] | length' losses.json)" = 1 ]
    [ "$(jq -r '.losses | to_entries | map(.value) | @csv' losses.json)" = "100,101,102,103,104,105,106,107,108,109" ]
}

@test "hostile names survive the round trip, or are replaced as documented" {
    forge hostile-names
    "$plimsoll" export hostile-names.plim >hostile.json
    jq -e '[.frames[].function] | contains(["<script>alert(1)</script>", "\"quoted\" \\back\\slash",
        "line one\nline two\r\n", "semi;colon;frames", "\u001b[31mred\u001b[0m", "tab\there, bell\u0007",
        "not utf-8: \ufffd\ufffd\ufffd", "]]></name>&amp;\u0027", "%s%n%p"])' hostile.json
    jq -e '[.frames[].function | length] | max == 4000' hostile.json
    fails grep -q '<script' hostile.json
    fails grep -qP '[\x00-\x09\x0b-\x1f]' hostile.json
    iconv -f UTF-8 -t UTF-8 hostile.json >/dev/null
}

@test "other readers of JSON agree" {
    forge hostile-names
    "$plimsoll" export hostile-names.plim >h.json
    python3 -c 'import json; json.load(open("h.json"), parse_constant=lambda c: 1 / 0)'
}

@test "-o writes a file, whole or not at all" {
    forge leak
    expect 0 "$plimsoll" export leak.plim -o out.json
    [ -z "$output" ]
    check out.json
    expect 1 "$plimsoll" export leak.plim -o /nowhere/out.json
    says "cannot write /nowhere/out.json: No such file or directory"
    expect 0 "$plimsoll" export -o - leak.plim
    [ "${output:0:1}" = "{" ]
}

@test "-o replaces files only: devices, pipes and links are written to, and a profile is left alone" {
    forge leak
    cp leak.plim copy.plim
    expect 2 "$plimsoll" export leak.plim -o copy.plim
    says "--output copy.plim is a profile; choose another name"
    cmp leak.plim copy.plim
    mkfifo pipe
    "$plimsoll" export leak.plim -o pipe &
    cat pipe >out.json
    wait $!
    [ -p pipe ]
    check out.json
    echo old >target.json
    ln -s target.json link.json
    expect 0 "$plimsoll" export leak.plim -o link.json
    [ -L link.json ]
    check target.json
    [ -z "$(ls ./*.tmp 2>/dev/null)" ]
}

@test "--no-symbols leaves out names" {
    "$plimsoll" run -q --no-symbols -s 16K -o out.plim -- "$(program cli-leaky)" || [ $? -eq 3 ]
    "$plimsoll" export --no-symbols out.plim >out.json
    check out.json
    jq -e '[.frames[].function] | unique == [""]' out.json
}

@test "a running process is exported" {
    "$plimsoll" run -q -s 16K -- "$(program cli-leaky)" 10000 60 >up &
    await grep -q up up
    child=$(pgrep -P $!)
    "$plimsoll" export "$child" >live.json
    check live.json
    jq -e ".process.running and .process.pid == $child" live.json
    kill -9 "$child"
    wait $! || true
}

@test "a JSON file is no profile" {
    echo '{}' >x.json
    expect 1 "$plimsoll" export x.json
    says "x.json"
}
