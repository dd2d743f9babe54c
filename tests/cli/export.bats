# SPDX-License-Identifier: MIT
# The JSON export: it is valid JSON, follows the documented schema and has the figures of the profile.

load support

check() {
    PYTHONDONTWRITEBYTECODE=1 python3 "$PLIMSOLL_SOURCE/tests/cli/schema.py" "$PLIMSOLL_SOURCE/docs/json.md" "$@"
}

@test "every synthetic profile exports by the documented schema" {
    for scenario in empty leak inlined losses hostile-names duplicates killed threads deep exact auto tags tags-sampled snapshot reset \
        1k-stacks; do
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

@test "a real profile in exact mode exports by the documented schema" {
    "$plimsoll" run -q --exact -o out.plim -- "$(program cli-leaky)" || [ $? -eq 3 ]
    "$plimsoll" export out.plim >out.json
    check out.json
    jq -e '.sampling.exact and .sampling.exact_calls == .totals.alloc_objects.value' out.json
    jq -e '.sampling.exact_calls == ([.sites[].alloc_objects.value] | add)' out.json
    jq -e '(.totals.ages | add) == .totals.inuse_objects.value and (.totals.sizes | add) == .sampling.exact_calls' out.json
    jq -e '.totals.peak_space.value >= .totals.inuse_space.value and (.timeline | length) > 0' out.json
}

@test "the schema check rejects damaged exports" {
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
    forge tags
    "$plimsoll" export tags.plim >tags.json
    jq '.scopes[0].functions.malloc += 1' tags.json >bad.json
    fails check bad.json
    jq '.sites[0].tag = 100000' tags.json >bad.json
    fails check bad.json
    "$plimsoll" export -f tags-json tags.plim >tree.json
    jq '.trees[0].nodes[1].self.inuse_space |= (.value += 1 | .high += 1)' tree.json >bad.json
    fails check bad.json
    jq '.trees[0].nodes |= [.[0], .[-1]] + .[1:-1]' tree.json >bad.json
    fails check bad.json
}

@test "the export has the figures of the profile" {
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

@test "an exact profile exports exact figures and everything that was recorded" {
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

@test "exact and sampled parts are added to one figure, and the export says so" {
    forge auto
    "$plimsoll" export auto.plim >auto.json
    [ "$(jq -r '.sampling.method' auto.json)" \
        = "exact for the first 400,000 allocations, then sampled about every 96 KiB; ± = 95% confidence" ]
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
    jq -e '[.losses[]] == [range(100; 100 + (.losses | length))] and .losses.tags == 110 and .losses.pops == 111' losses.json
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

@test "Python's JSON parser accepts the export" {
    forge hostile-names
    "$plimsoll" export hostile-names.plim >h.json
    python3 -c 'import json; json.load(open("h.json"), parse_constant=lambda c: 1 / 0)'
}

# --- tags ---

# hostile_tags: writes hostile.plim, whose tag names contain characters that are special in some format
hostile_tags() {
    "$PLIMSOLL_BUILD/tests/lib/hostile" tags hostile.plim
}

# is_xml FILE
is_xml() {
    python3 -c 'import sys, xml.etree.ElementTree as tree; tree.parse(sys.argv[1])' "$1"
}

# titles FILE.svg: prints the text of each tooltip as a line of JSON
titles() {
    python3 -c 'if True:
        import json, sys, xml.etree.ElementTree as tree
        link = "{http://www.w3.org/1999/xlink}title"
        for element in tree.parse(sys.argv[1]).iter():
            text = element.text if element.tag.endswith("}title") else element.get(link)
            if text:
                print(json.dumps(text, ensure_ascii=False))' "$1"
}

# has_long_name FILE LAST BYTES: FILE has the name of BYTES bytes that is all x up to its last character, LAST
has_long_name() {
    awk -v last="$2" -v bytes="$3" 'match($0, "^\"x+" last) && RLENGTH == bytes + 1 { found = 1 } END { exit !found }' "$1"
}

@test "tags, scopes and the tag of each site are exported" {
    forge tags
    "$plimsoll" export tags.plim >tags.json
    check tags.json
    [ "$(jq -c '[.tags[] | [.path, .kind]]' tags.json)" = \
        '[["","root"],["request","named"],["request/parse","named"],["request/render","named"],["index","named"],["(off)","off"]]' ]
    [ "$(jq -c '[.tags[] | [.name, .parent, .depth]][:3]' tags.json)" = '[["",null,0],["request",0,1],["parse",1,2]]' ]
    # Each of two workers parses 300 strings, in a scope that is still open, and renders 200, of which it keeps 50.
    [ "$(jq -c '[.scopes[] | select(.tag == 2) | [.calls, .bytes, .functions.malloc]]' tags.json)" = \
        "[[300,19200,300],[300,19200,300]]" ]
    [ "$(jq -c '[.scopes[] | select(.tag == 3) | [.entered, .calls]]' tags.json)" = "[[100,200],[100,200]]" ]
    [ "$(jq -c '[.sites[] | select(.tag == 3).inuse_space.value]' tags.json)" = "[3200,3200]" ]
    jq -e '[.sites[] | select(.other_sizes) | [.tag, .stack, .alloc_objects.value]] == [[1,null,10],[1,null,10]]' tags.json
    jq -e '.extent.size_to == 1048576 and .extent.snapshot == null and .extent.reset_s == null' tags.json
}

@test "a real profile with tags exports by the documented schemas" {
    for mode in --exact --sample=16K; do
        "$plimsoll" run -q $mode -o out.plim -- "$PLIMSOLL_BUILD/examples/server/server" >/dev/null
        "$plimsoll" export --no-symbols out.plim >all.json
        check all.json
        "$plimsoll" export -f tags-json --by thread,tag out.plim >tree.json
        check tree.json
        [ "$(jq '[.trees[].nodes[0].total.calls] | add' tree.json)" = "$(jq '.totals.alloc_objects.value' all.json)" ]
        jq -e '[.tags[].path] | contains(["request", "request/list/copy"])' all.json
    done
}

@test "the export says that a profile is a snapshot or was reset" {
    forge snapshot
    "$plimsoll" export snapshot.plim >snapshot.json
    jq -e '.extent | .snapshot == "warmed up" and .snapshot_s == 3.2 and .resets == 0' snapshot.json
    forge reset
    "$plimsoll" export reset.plim >reset.json
    jq -e '.extent | .snapshot == null and .resets == 1 and .reset_s == 5' reset.json
    jq -e '.totals.alloc_objects.value == 8 and ([.scopes[].calls] | add) == 8' reset.json
}

@test "the tag tree has the sums of scopes and sites" {
    for scenario in tags tags-sampled reset; do
        forge $scenario
        "$plimsoll" export $scenario.plim >all.json
        "$plimsoll" export -f tags-json $scenario.plim >tree.json
        check tree.json
        jq -e --slurpfile all all.json '.trees[0].nodes | all(. as $node | [$all[0].scopes[] | select(.tag == $node.tag)] |
            ([.[].calls] | add // 0) == $node.self.calls and ([.[].bytes] | add // 0) == $node.self.bytes
            and ([.[].entered] | add // 0) == $node.self.entered)' tree.json
        jq -e --slurpfile all all.json '.trees[0].nodes | all(. as $node | [$all[0].sites[] | select(.tag == $node.tag)] |
            ([.[].inuse_space.value] | add // 0) - $node.self.inuse_space.value | fabs < 1)' tree.json
        jq -e --slurpfile all all.json '.trees[0].nodes[0].total |
            .calls == $all[0].totals.alloc_objects.value and .bytes == $all[0].totals.alloc_space.value' tree.json
    done
}

@test "the tag tree has the figures of the report" {
    forge tags
    "$plimsoll" export -f tags-json --metric calls tags.plim >tree.json
    "$plimsoll" report --by tag --metric calls --threshold 0 tags.plim >report
    for name in request parse render index '(off)'; do
        calls=$(jq --arg name "$name" '.trees[0].nodes[] | select(.name == $name).total.calls' tree.json |
            sed -E ':a;s/([0-9])([0-9]{3})($|,)/\1,\2\3/;ta')
        [ "$calls" ]
        grep -E "^ +$calls .*$name" report
    done
}

@test "estimates in the tag tree have confidence intervals, counts have none" {
    forge tags-sampled
    "$plimsoll" export -f tags-json tags-sampled.plim >tree.json
    jq -e '.exact == false and ([.trees[].nodes[] | .self, .total | .alloc_objects.error, .alloc_space.error] | max) == 0' tree.json
    jq -e '.trees[0].nodes[] | select(.path == "index").total.inuse_space | .low < .value and .value < .high' tree.json
    # No sample was taken under this tag. That does not mean that it has no live blocks.
    jq -e '.trees[0].nodes[] | select(.path == "request").self.inuse_space | .value == 0 and .high > 0' tree.json
    "$plimsoll" export -f tags-json --metric live --threshold 50% --tag request tags-sampled.plim >tree.json
    check tree.json
    jq -e '.trees[0].nodes[] | select(.kind == "more").total.inuse_space | .value == 0 and .high > 0' tree.json
}

@test "frees of a tag are in its tree and its pictures, exact or with a confidence interval" {
    forge tags
    "$plimsoll" export -f tags-json tags.plim >tree.json
    jq -e '.trees[0].nodes[] | select(.path == "request/render") | .self.freed_objects == {value: 300, error: 0, low: 300, high: 300}
        and .self.freed_space.value == 19200 and .total.freed_space.value == 19200' tree.json
    jq -e '.trees[0].nodes[] | select(.path == "request") | .self.freed_objects.value == 220 and .total.freed_objects.value == 1120' tree.json
    for format in tags-dot tags-svg; do
        "$plimsoll" export -f $format tags.plim >picture
        grep -F 'frees: total 1,120, self 220' picture
        grep -F 'freed: total 40.3 MiB, self 40.2 MiB' picture
    done
    forge tags-sampled
    "$plimsoll" export -f tags-json tags-sampled.plim >tree.json
    jq -e '.trees[0].nodes[] | select(.path == "index").self.freed_space | .low < .value and .value < .high' tree.json
    # The samples estimate 65,536 calls. Only 60,000 were made, and that count is exact.
    jq -e '.trees[0].nodes[] | select(.path == "request/parse").self.freed_objects | .low < 60000 and .value == 60000 and .high == 60000' tree.json
}

@test "each group of threads has a tag tree" {
    forge tags
    "$plimsoll" export -f tags-json --by thread,tag tags.plim >each.json
    check each.json
    jq -e '[.trees[] | [.name, .threads, .nodes[0].total.calls]] | sort == [["example",1,1501],["worker-1",1,610],["worker-2",1,610]]' each.json
    "$plimsoll" export -f tags-json --merge-threads 'worker-.*' --metric calls tags.plim >merged.json
    check merged.json
    jq -e '[.trees[] | [.name, .threads, .nodes[0].total.calls]] == [["example",1,1501],["worker-.*",2,1220]]' merged.json
    "$plimsoll" export -f tags-json --thread worker-1 tags.plim >one.json
    check one.json
    jq -e '.selection == "threads matching worker-1" and (.trees | length) == 1 and .trees[0].nodes[0].total.calls == 610' one.json
}

@test "small tags are merged into one node, and the sums stay the same" {
    forge tags
    "$plimsoll" export -f tags-json --metric calls --threshold 20% tags.plim >tree.json
    check tree.json
    jq -e '[.trees[0].nodes[] | [.name, .kind, .tags, .total.calls]] == [["","root",1,2721],["request","named",1,1220],
        ["parse","named",1,600],["1 more","more",1,400],["index","named",1,1000],["1 more","more",1,500]]' tree.json
    "$plimsoll" export -f tags-json --metric calls --threshold 40% tags.plim >tree.json
    check tree.json
    jq -e '[.trees[0].nodes[] | [.name, .tags, .total.calls]] == [["",1,2721],["request",1,1220],["2 more",2,1000],
        ["2 more",2,1500]]' tree.json
}

@test "hostile tag names survive in JSON" {
    hostile_tags
    for format in json tags-json; do
        "$plimsoll" export --no-symbols -f $format hostile.plim >hostile.json
        check hostile.json
        python3 - hostile.json <<'END'
import json, sys
export = json.load(open(sys.argv[1], encoding="utf-8"))
names = [tag["name"] for tag in export.get("tags") or export["trees"][0]["nodes"]]
for name in ("\"double\" 'single' `back`", "back\\slash \\N \\G \\l \\\\ and at the end \\", "two\nlines\r\n\tand a tab",
             "<b>bold</b><script>alert(1)</script> ]]> -->", "日本語のタグ Käse 🧀", "x" * 3999 + "a", "x" * 3999 + "b",
             "x" * 65535 + "c", "a/b", ""):
    assert name in names, name[:60]
END
        fails grep -q '<script' hostile.json
    done
}

@test "Graphviz reads the tag tree with hostile names" {
    hostile_tags
    "$plimsoll" export -f tags-dot --threshold 0 hostile.plim >hostile.dot
    run -0 --separate-stderr dot -Tsvg hostile.dot -o hostile.svg
    [ -z "$stderr" ]
    is_xml hostile.svg
    titles hostile.svg >tooltips
    [ "$(grep -c 'entered: ' tooltips)" = 114 ]
    for name in '"\"double\" '"'single'"' `back`\n' '"back\\slash \\N \\G \\l \\\\ and at the end \\\n' '"two␊lines␍␊␉and a tab\n' \
        '"<b>bold</b><script>alert(1)</script> ]]> -->\n' '"&amp; &lt; &#10; &nbsp; %s %n $HOME\n' '日本語のタグ Käse 🧀\n'; do
        grep -F -- "$name" tooltips
    done
    has_long_name tooltips a 4000
    has_long_name tooltips c 65536
    python3 -c 'import xml.etree.ElementTree as tree
print(*("".join(text.itertext()) for text in tree.parse("hostile.svg").iter("{http://www.w3.org/2000/svg}text")), sep="\n")' >labels
    for name in '"double" '"'single'"' `back`' '&amp; &lt; &#10; &nbsp; %s %n $HOME' 'back\slash \N \G \l \\ and at the end \' '""'; do
        grep -Fx -- "$name" labels
    done
    fails grep -E 'label="x{50}' hostile.dot
    grep -E 'label="x+…x+a\\n' hostile.dot
}

@test "the Graphviz tree is shaded by self, labelled, and has a cluster for each group of threads" {
    forge tags
    "$plimsoll" export -f tags-dot --metric calls --merge-threads 'worker-.*' tags.plim >tags.dot
    [ "$(grep -c 'subgraph cluster_' tags.dot)" = 2 ]
    grep -F 'label="worker-.* (2 threads)"' tags.dot
    grep -F 'label="index\ntotal 1,000 (36.8%) · 46.9 KiB\nself 1,000 (36.8%) · 46.9 KiB", fillcolor="#174a86", fontcolor="#ffffff"' tags.dot
    grep -F 'label="request\ntotal 1,220 (44.8%) · 40.3 MiB\nself 220 (8.1%) · 40.2 MiB", fillcolor="#7cabdc"' tags.dot
    grep -E 't1n0 -> t1n1 \[label="1,220"' tags.dot
    "$plimsoll" export -f tags-dot --metric calls --threshold 25% tags.plim >tags.dot
    grep -F 'label="2 more\ntotal 1,000 (36.8%)' tags.dot
    dot -Tsvg tags.dot -o tags.svg
    is_xml tags.svg
}

@test "the SVG is well-formed and without scripts, even with hostile names" {
    hostile_tags
    "$plimsoll" export -f tags-svg --threshold 0 hostile.plim -o hostile.svg
    is_xml hostile.svg
    fails grep -qE '<script|<b>|onload|href' hostile.svg
    fails grep -qP '[\x00-\x09\x0b-\x1f\x7f]' hostile.svg
    titles hostile.svg >tooltips
    grep -F '"two␊lines␍␊␉and a tab\n' tooltips
    grep -F '"<b>bold</b><script>alert(1)</script> ]]> -->\n' tooltips
    has_long_name tooltips c 65536
    grep -F 'prefers-color-scheme:dark' hostile.svg
}

@test "in the SVG a tag lies below its parent and is as wide as its total" {
    forge tags
    for threads in '--by tag' '--by thread,tag'; do
        "$plimsoll" export -f tags-svg $threads --metric calls tags.plim >tags.svg
        python3 - tags.svg <<'END'
import re, sys, xml.etree.ElementTree as tree
boxes = []
for group in tree.parse(sys.argv[1]).iter("{http://www.w3.org/2000/svg}g"):
    title = group.find("{*}title")
    if title is None:
        continue
    rect = {key: float(value) for key, value in group.find("{*}rect").attrib.items()}
    calls = re.search(r"^calls: total ([\d,]+),", title.text, re.MULTILINE)
    boxes.append((rect["x"], rect["x"] + rect["width"] + 2, rect["y"], calls and int(calls[1].replace(",", ""))))
assert len(boxes) >= 6, boxes
for this in boxes:
    left, right, y, calls = this
    assert calls is None or abs((right - left) - calls / 2721 * 1168) < 0.1, (left, right, calls)
    above = [box for box in boxes if box[2] == y - 36]
    assert y == 84 or any(box[0] - 0.1 <= left and right <= box[1] + 0.1 for box in above), (left, right, y)
    beside = [box for box in boxes if box[2] == y and box is not this]
    assert all(right <= box[0] + 0.1 or box[1] <= left + 0.1 for box in beside), (left, right, y)
END
    done
}

@test "the tag formats accept profiles without tags and empty profiles" {
    for scenario in empty leak; do
        forge $scenario
        for format in tags-json tags-dot tags-svg; do
            "$plimsoll" export -f $format --metric live $scenario.plim >$scenario.$format
        done
        check $scenario.tags-json
        dot -Tsvg $scenario.tags-dot -o dot.svg
        is_xml dot.svg
        is_xml $scenario.tags-svg
    done
    grep -F 'This metric has nothing to show' empty.tags-svg
}

@test "--tag exports a part of a profile" {
    forge tags
    "$plimsoll" export --tag request tags.plim >part.json
    check part.json
    jq -e '.extent.selection == "tag request, and below" and .totals.alloc_objects.value == 1220' part.json
    expect 2 "$plimsoll" export --tag requests tags.plim
    says "no such tag" "request"
}

@test "options of tag trees are refused for other formats" {
    forge tags
    expect 2 "$plimsoll" export --merge-threads x tags.plim
    says "--merge-threads is for tag trees; add --format tags-json, tags-dot or tags-svg"
    for option in '--threshold 1' '--by thread,tag'; do
        expect 2 "$plimsoll" export $option tags.plim
        says "json contains everything, so --by and --threshold have no effect"
    done
    expect 2 "$plimsoll" export -f tags-svg --merge-threads '(' tags.plim
    says "--merge-threads"
    expect 2 "$plimsoll" export -f tags-xml tags.plim
    says "tags-svg"
}

@test "-o writes a whole file or fails, and - is stdout" {
    forge leak
    expect 0 "$plimsoll" export leak.plim -o out.json
    [ -z "$output" ]
    check out.json
    expect 1 "$plimsoll" export leak.plim -o /nowhere/out.json
    says "cannot write /nowhere/out.json: No such file or directory"
    expect 0 "$plimsoll" export -o - leak.plim
    [ "${output:0:1}" = "{" ]
}

@test "-o writes into pipes, follows links and never overwrites a profile" {
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

@test "--no-symbols exports no names" {
    "$plimsoll" run -q --no-symbols -s 16K -o out.plim -- "$(program cli-leaky)" || [ $? -eq 3 ]
    "$plimsoll" export --no-symbols out.plim >out.json
    check out.json
    jq -e '[.frames[].function] | unique == [""]' out.json
}

@test "--no-symbols also leaves out the names that the file contains" {
    "$plimsoll" run -q -s 16K -o out.plim -- "$(program cli-leaky)" || [ $? -eq 3 ]
    "$plimsoll" export out.plim | grep -q '"main"'
    "$plimsoll" export --no-symbols out.plim >out.json
    check out.json
    jq -e '[.frames[].function] | unique == [""]' out.json
    "$plimsoll" export --no-symbols -f collapsed out.plim >out.collapsed
    [ -s out.collapsed ]
    fails grep -q 'main' out.collapsed
}

@test "a running process can be exported" {
    "$plimsoll" run -q -s 16K -- "$(program cli-leaky)" 10000 60 >up &
    await grep -q up up
    child=$(pgrep -P $!)
    "$plimsoll" export "$child" >live.json
    check live.json
    jq -e ".process.running and .process.pid == $child" live.json
    kill -9 "$child"
    wait $! || true
}

# older/old.c is the program. The profiles and their figures were written by the plimsoll of that format.
@test "profiles of older formats have the figures that their own version showed" {
    for old in "$PLIMSOLL_SOURCE"/tests/cli/older/*.plim.gz; do
        gzip -dc "$old" >old.plim
        expect 0 "$plimsoll" export -f csv old.plim
        diff <(sed 's#"/tmp/[a-z/]*/#"#g' <<<"$output" | cut -d, -f1-13) "${old%.plim.gz}.csv"
        expect 0 "$plimsoll" merge -f -o merged.plim old.plim
        [ "$(od -An -tu4 -j8 -N4 merged.plim | tr -d ' ')" -eq "$("$plimsoll" version | sed 's/.*format \([0-9]*\).*/\1/')" ]
        "$plimsoll" export -f csv merged.plim | sed 's#"/tmp/[a-z/]*/#"#g' | cut -d, -f1-11 | sort >again
        diff <(cut -d, -f1-11 "${old%.plim.gz}.csv" | sort) again
    done
}

@test "a JSON file is refused as a profile" {
    echo '{}' >x.json
    expect 1 "$plimsoll" export x.json
    says "x.json"
}
