# SPDX-License-Identifier: MIT
# Process trees: many profiles that are read as one.

load support

# total FILE: calls and bytes allocated
total() {
    "$plimsoll" export "$1" | jq -c '[.totals.alloc_objects.value, .totals.alloc_space.value]'
}

@test "a directory is read as the sum of its profiles by every command that reads one" {
    mkdir tree
    "$plimsoll" run -q -o tree/one.plim -- "$(program cli-tree)" 4
    [ "$(ls tree | wc -l)" -eq 3 ] # two of the four allocate
    "$plimsoll" merge -q -o sum.plim tree/*
    [ "$(total tree)" = "$(total sum.plim)" ]
    expect 0 "$plimsoll" report tree
    shows "3 profiles" "exact: all" allocate
    expect 0 "$plimsoll" diff tree sum.plim
    shows "nothing has changed"
    expect 0 "$plimsoll" check --max-allocated 1G tree
    expect 0 "$plimsoll" html -o page.html tree
    [ -s page.html ]
    "$plimsoll" merge -q -o again.plim tree
    [ "$(total again.plim)" = "$(total sum.plim)" ]
}

@test "in a directory, snapshots and copies do not count twice" {
    mkdir tree
    "$plimsoll" run -q --snapshot-every 100ms --snapshot-keep 2 -o tree/one.plim -- "$(program cli-leaky)" 10000 1 || true
    [ -s tree/one.0001.plim ]
    before=$(total tree/one.plim)
    cp tree/one.plim tree/copy.plim
    [ "$(total tree)" = "$before" ]
    expect 0 "$plimsoll" report tree
    says "whose figures are part of another: snapshots, or copies"
    shows "cli-leaky"
}

@test "a directory without profiles, and a file in it that is none, are named" {
    mkdir tree
    expect 1 "$plimsoll" report tree
    says "tree has no profile in it"
    forge leak
    cp leak.plim tree/
    echo text >tree/other.plim
    echo text >tree/notes.txt
    expect 0 "$plimsoll" report tree
    says 'tree/other.plim is not a Plimsoll profile' "the figures are without it"
    [[ $stderr != *notes* ]]
}

# many COUNT: a command that runs cli-leaky that often, and something else
many() {
    echo "for i in \$(seq $1); do $(program cli-leaky) 10; done; $(program cli-tree) 0; exit 3"
}

@test "the profiles of a few processes are kept, those of many are folded: one for each program, and nothing is lost" {
    expect 3 "$plimsoll" run -- sh -c "for i in 1 2 3; do $(program cli-leaky) 10; done; exit 3"
    says "wrote 4 profiles of 4 processes:" "or, all as one: plimsoll merge -o tree.plim plimsoll.sh."
    [ "$(ls ./*.plim | wc -l)" -eq 4 ]
    rm ./*.plim
    expect 3 "$plimsoll" run -o out.plim -- sh -c "$(many 20)"
    [ "$(echo *.plim *.tree)" = "out.plim out.tree" ]
    [[ ${stderr_lines[0]} =~ ^plimsoll:\ 23\ processes,\ 4\ programs:\ exact:\ [0-9,]+\ allocations, ]]
    [[ ${stderr_lines[1]} == *"cli-tree, 1 process: "*"out.tree/cli-tree.plim" ]]
    [[ ${stderr_lines[2]} == *"cli-leaky, 20 processes: "*"largest peak"*"out.tree/cli-leaky.plim" ]]
    says "next, all as one: plimsoll report out.tree"
    [ "$("$plimsoll" export out.tree/cli-leaky.plim | jq .extent.merged)" -eq 20 ]
    [ -z "$(ls -A live)" ]
    expect 0 "$plimsoll" report out.tree
    shows "exact: all" keep_block
    expect 0 "$plimsoll" report out.plim
    says "this is one process of a tree; all of them as one: plimsoll report out.tree"

    # Each process by itself has the same total.
    mkdir each
    expect 3 "$plimsoll" run --keep-all -o each/ -- sh -c "$(many 20)"
    [ "$(ls each | wc -l)" -eq 23 ]
    [ "$(total out.tree/cli-leaky.plim)" = "$(mkdir leaky && cp each/*cli-leaky* leaky && total leaky)" ]
    [ "$(total out.tree/cli-tree.plim)" = "$(total each/*cli-tree*)" ]
}

@test "while the program runs, profiles of ended processes do not pile up" {
    "$plimsoll" run -q -o out.plim -- sh -c "$(many 70 | sed 's/exit 3/echo up; read line/')" >up <"$(mkfifo in; echo in)" &
    run=$!
    exec 9>in
    await grep -q up up
    await bash -c '[ "$(ls live/plimsoll-run.*/*.plim | wc -l)" -le 5 ]' # sh, and a sum for each program
    "$plimsoll" report live/plimsoll-run.* >report
    grep -q keep_block report
    echo >&9
    exec 9>&-
    wait $run || true
    [ "$("$plimsoll" export out.tree/cli-leaky.plim | jq .extent.merged)" -eq 70 ]
}

@test "if run itself is killed, the sums of ended processes are left" {
    "$plimsoll" run -q -o out.plim -- sh -c "$(many 40 | sed 's/exit 3/echo up; exec sleep 60/')" >up &
    run=$!
    await grep -q up up
    await bash -c '[ "$(ls live/plimsoll-run.*/*.plim | wc -l)" -le 6 ]'
    child=$(pgrep -P $run)
    kill -9 $run
    kill "$child"
    wait $run || true
    for file in live/plimsoll-run.*/sum-*.plim; do
        "$plimsoll" export "$file" | jq .extent.merged
    done | sort -n >merged
    [ "$(tail -1 merged)" -eq 40 ]
    expect 0 "$plimsoll" ls --all
    shows /sum-0.plim
}

@test "the directory of a tree replaces that of the run before, and no other file" {
    mkdir out.tree
    echo text >out.tree/notes
    forge leak
    cp leak.plim out.tree/old.plim
    "$plimsoll" run -q -o out.plim -- sh -c "$(many 12)" || true
    [ -f out.tree/notes ] && [ ! -e out.tree/old.plim ] && [ -f out.tree/cli-leaky.plim ]
}

@test "with --only, the plain name is that of the program's sum" {
    "$plimsoll" run -q --only cli-leaky -o out.plim -- sh -c "$(many 12)" || true
    [ "$("$plimsoll" export out.plim | jq -c '[.extent.merged, .process.name]')" = '[12,"cli-leaky"]' ]
    [ "$(total out.tree)" = "$(total out.plim)" ]
}

@test "two programs of one name have a profile each" {
    mkdir other
    cp "$(program cli-leaky)" other/
    "$plimsoll" run -q -o out.plim -- sh -c "$(many 9); :" || true
    "$plimsoll" run -q -o out.plim -- sh -c "for i in 1 2 3 4 5 6; do $(program cli-leaky) 10; other/cli-leaky 10; done; :" || true
    [ "$("$plimsoll" export out.tree | jq .extent.merged)" -eq 13 ]
}

@test "programs with long names are told apart" {
    cp "$(program cli-leaky)" a-tool-with-a-long-name-one
    cp "$(program cli-leaky)" a-tool-with-a-long-name-two
    expect 0 "$plimsoll" run -o out.plim -- sh -c 'for i in 1 2 3 4 5 6; do ./a-tool-with-a-long-name-one 10; ./a-tool-with-a-long-name-two 10; done; :'
    says "a-tool-with-a-long-name-one, 6 processes" "a-tool-with-a-long-name-two, 6 processes"
    [ -s out.tree/a-tool-with-a-long-name-one.plim ] && [ -s out.tree/a-tool-with-a-long-name-two.plim ]
}
