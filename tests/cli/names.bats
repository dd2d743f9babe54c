# SPDX-License-Identifier: MIT
# Rules for names: the built-in ones, those of a file, where the file is looked for, and that rules keep all sums.

load support

# All tests read one run. It allocates 3 blocks in fill, and 20 rows, names and nodes in each of two handlers.
setup_file() {
    export PLIMSOLL_LIVE_DIR=$BATS_FILE_TMPDIR/live DEBUGINFOD_URLS=
    mkdir "$PLIMSOLL_LIVE_DIR"
    "$PLIMSOLL_BUILD/plimsoll" run -q --exact -o "$BATS_FILE_TMPDIR/out.plim" -- \
        "$PLIMSOLL_BUILD/tests/cli/cli-templates"
    export out=$BATS_FILE_TMPDIR/out.plim
}

# rules LINE...: writes them to the file `rules`
rules() {
    printf '%s\n' "$@" >rules
}

# tree [OPTIONS]: reports the call tree of the run, so wide that no line is wrapped
tree() {
    COLUMNS=1000 expect 0 "$plimsoll" report --tree --threshold 0 "$@" "$out"
}

# json [OPTIONS]: exports the run as JSON
json() {
    "$plimsoll" export "$@" "$out"
}

# stacks [OPTIONS]: prints the live bytes of each site, then its functions, innermost first
stacks() {
    json "$@" | jq -r '. as $all | .sites[] | select(.stack != null)
        | "\(.inuse_space.value) \($all.stacks[.stack] | map($all.frames[.].function) | join(" < "))"'
}

lacks() {
    [[ $output != *"$1"* ]] || { printf 'stdout has: %s\n%s\n' "$1" "$output"; return 1; }
}

@test "C++ names are shown as people write them" {
    tree
    shows "std::vector<Row>::resize" "std::map<std::string, …>::operator[]" "fill<long>" "handle_get"
    lacks "basic_string<"
    lacks "std::allocator<"
}

@test "exports have the simplified names with parameters, and the mangled names" {
    json >out.json
    jq -e '.frames | any(.function == "std::vector<Row>::resize(unsigned long)"
        and .linkage == "_ZNSt6vectorI3RowSaIS0_EE6resizeEm")' out.json
    jq -e '.frames | all(.function | contains(", std::allocator<") | not)' out.json
}

@test "--full-names shows names without rules" {
    tree --full-names
    shows "std::vector<Row, std::allocator<Row> >::resize(unsigned long)" "std::__cxx11::basic_string<char, "
    rules 'rename ^handle_ => serve_'
    tree --full-names --names rules
    shows "handle_get("
    lacks "serve_get"
}

@test "--names none turns every rule off" {
    mkdir -p config/plimsoll
    echo 'rename ^handle_ => serve_' >config/plimsoll/names
    tree --names none
    shows "handle_get" "operator new"
    lacks "serve_get"
    json --names none | jq -e '.frames | any(.function == "std::vector<Row, std::allocator<Row> >::resize(unsigned long)")'
}

@test "stacks that rules make equal are merged, and their figures are added" {
    stacks >before
    [ "$(grep -c 'fill<' before)" -eq 3 ]
    rules 'rename ^(make|fill)<.*> => \1<T>'
    stacks --names rules >after
    [ "$(grep -c ' < fill<T> < main' after)" -eq 1 ]
    [ "$(grep ' < fill<T> < main' after | cut -d' ' -f1)" -eq $((100 * 4 + 100 * 8 + 100 * 64)) ]
    sum() { awk '{ sum += $1 } END { print sum }' "$1"; }
    [ "$(sum before)" = "$(sum after)" ]
    [ "$(json | jq -c .totals)" = "$(json --names rules | jq -c .totals)" ]
    tree --names rules
    shows "make<T>"
    lacks "make<long>"
}

@test "joined functions become one function without lines; renamed ones keep their lines" {
    rules 'rename ^handle_.* => handle'
    tree --names rules
    [ "$(grep -c 'handle  *[^ ]*templates.cpp:' <<<"$output")" -eq 2 ]
    rules 'join ^handle_.* => handle' 'cut ^handle$'
    tree --names rules
    [ "$(grep -c ' handle  \[cli-templates\]$' <<<"$output")" -eq 1 ]
    shows "make<Row>  "
}

@test "a name from a rule is printed as the rule has it" {
    rules 'join ^handle_.*$ => request handling [all] (of any kind)' 'rename ^fill => größe of "a" '
    tree --names rules
    shows "│  request handling [all] (of any kind)" '─ größe of "a"<long>  '
    json --names rules | jq -e '.frames | any(.function == "request handling [all] (of any kind)")'
}

@test "the callers of a cut frame and dropped frames are left out" {
    rules 'cut ^fill<' 'drop ^std::' 'drop ^operator new'
    stacks --names rules >after
    grep -Eq '^400 void\* make<int>\(unsigned long\) < void\* fill<int>\(unsigned long\)$' after
    fails grep -q 'std::vector<Row>::' after
    grep -q '^[0-9]* handle_get(.*) < main < ' after
}

@test "a stack that would lose all of its frames keeps the innermost" {
    rules 'drop .'
    stacks --names rules >after
    [ "$(grep -c 'operator new(unsigned long)$' after)" -eq 1 ]
    fails grep -q main after
    [ "$(json | jq -c .totals)" = "$(json --names rules | jq -c .totals)" ]
    expect 0 "$plimsoll" report --names rules "$out"
}

@test "the site is the caller of the functions that a rule calls allocators" {
    COLUMNS=200 expect 0 "$plimsoll" report --metric live "$out"
    shows "  make<Row>  "
    rules 'allocator ^make<'
    COLUMNS=200 expect 0 "$plimsoll" report --metric live --names rules "$out"
    shows "  fill<Row>  "
    lacks "make<Row>"
    stacks --names rules | grep -q 'make<Row>'
}

@test "suppressions are compared with the original names" {
    rules 'rename ^handle_ => serve_'
    echo 'leak:handle_get' >suppressions
    expect 0 "$plimsoll" report --leaks --names rules --suppressions suppressions "$out"
    shows serve_put
    lacks serve_get
}

@test "rules come from the option, the variable or the user's file, in this order" {
    export HOME=$work/home
    mkdir -p home/.config/plimsoll config/plimsoll
    echo 'rename ^handle_ => home_' >home/.config/plimsoll/names
    echo 'rename ^handle_ => config_' >config/plimsoll/names
    echo 'rename ^handle_ => variable_' >variable
    rules 'rename ^handle_ => option_'
    tree
    shows config_get
    XDG_CONFIG_HOME= tree
    shows home_get
    XDG_CONFIG_HOME=relative tree
    shows home_get
    PLIMSOLL_NAMES=variable tree
    shows variable_get
    PLIMSOLL_NAMES=variable tree --names rules
    shows option_get
    PLIMSOLL_NAMES=none tree
    shows handle_get "operator new"
    XDG_CONFIG_HOME=$work/nowhere tree
    shows handle_get
}

@test "a bad rule is reported with file and line by every command" {
    rules '# fine' '' 'cut (main'
    expect 2 "$plimsoll" report --names rules "$out"
    says "rules:3: " "not a regular expression" "plimsoll help names"
    expect 2 "$plimsoll" export --names rules "$out"
    says "rules:3: "
    [ -z "$output" ]
    PLIMSOLL_NAMES=rules expect 2 "$plimsoll" report "$out"
    says "rules:3: "
    rules 'rename a b'
    expect 2 "$plimsoll" report --names rules "$out"
    says "rules:1: expected rename REGEX => TEXT, with blanks around"
    expect 2 "$plimsoll" report --names nowhere "$out"
    says "cannot read rules for names from nowhere: No such file or directory"
}

@test "a rule of --names that matches nothing is reported; one of the user's file is not" {
    rules 'cut ^nobody$' 'cut ^main$'
    expect 0 "$plimsoll" report --names rules "$out"
    says 'rules:1: this rule matched no name: ^nobody$'
    mkdir -p config/plimsoll
    mv rules config/plimsoll/names
    expect 0 "$plimsoll" report "$out"
    [ -z "$stderr" ]
}

@test "a rule that would leave an empty name and a rule that matches nothing get different messages" {
    rules 'rename ^main$ =>' 'cut ^nobody$'
    expect 0 "$plimsoll" report --names rules "$out"
    says 'rules:1: this rule would have emptied a name, and was not applied: ^main$' \
        'rules:2: this rule matched no name: ^nobody$'
    rules 'rename ^handle_get$|^main$ =>' 'rename ^handle_ =>'
    expect 0 "$plimsoll" report --names rules "$out"
    says 'rules:1: this rule would'
    [ "${#stderr_lines[@]}" -le 1 ]
}

@test "the built-in rules are those that help prints" {
    "$plimsoll" help names | sed '1,/^Built in$/d' >built-in
    grep -q '^  strip std::(allocator|' built-in
    { echo no-defaults; cat built-in; } >rules
    stacks | sort >expected
    stacks --names rules 2>/dev/null | sort >actual
    [ -s expected ]
    diff expected actual
    echo no-defaults >rules
    json --names rules | jq -e '.frames | any(.function | contains("std::allocator<Row> >::resize("))'
}

@test "the rules in the documentation are accepted and work" {
    awk '/^```/ { on = !on; next } on && !/^\$/' "$PLIMSOLL_SOURCE/docs/names.md" >rules
    grep -q '^join ' rules
    expect 0 "$plimsoll" report --names rules "$out"
    tree --names rules
    shows "fill<T>  " "  handle"
    lacks handle_get
}

@test "rules handle hostile names" {
    forge hostile-names
    rules 'rename (.+)+x => \1\1' 'drop (a|b|.)+!$' 'join [[:cntrl:]]+ => <&>'
    expect 0 timeout "$patience" "$plimsoll" report --names rules hostile-names.plim
    "$plimsoll" export --names rules hostile-names.plim 2>/dev/null | jq -e . >json
}

@test "Rust's names are shown without hashes and allocator parameters, and its allocator is folded" {
    command -v rustc >/dev/null || skip "no rustc"
    cat >stock.rs <<'END'
use std::collections::HashMap;
#[inline(never)]
fn keep(words: &mut HashMap<String, Vec<u64>>, i: u64) {
    words.entry(format!("word {i}")).or_default().extend(0..i);
}
fn main() {
    let mut words = HashMap::new();
    (0..50).for_each(|i| keep(&mut words, i));
    std::mem::forget(words);
}
END
    for mangling in debuginfo=2 symbol-mangling-version=v0; do # the first leaves the default mangling
        rustc -g -C $mangling -o stock stock.rs 2>rustc.log || skip "$(head -1 rustc.log)"
        "$plimsoll" run -q --exact -o stock.plim -- ./stock
        COLUMNS=1000 expect 0 "$plimsoll" report --reverse --threshold 0 stock.plim
        shows "stock::keep  stock.rs:4" "alloc::vec::Vec<"
        lacks "alloc::alloc::Global"
        lacks "raw_vec"
        fails grep -Eq '::h[0-9a-f]{16}' <<<"$output"
        COLUMNS=1000 expect 0 "$plimsoll" report --tree --threshold 0 stock.plim
        shows "stock::main  stock.rs:8"
        lacks "__rust_begin_short_backtrace"
    done
}
