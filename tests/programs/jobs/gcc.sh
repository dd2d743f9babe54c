# SPDX-License-Identifier: MIT
# The driver, the compiler, the assembler and the linker, each a process; then a file that does not compile.
set -e
gcc -O2 -w -S -o - "$1" | sha256sum
gcc -O1 -w -o job "$1" -lm
./job || echo "status $?"
echo 'int main(void) { return missing; }' >broken.c
gcc -c broken.c 2>&1 || exit 7
