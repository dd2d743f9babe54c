# SPDX-License-Identifier: MIT
# A repository with a little history, packed, searched, diffed and checked. Names and dates are fixed, so commits are.
set -e
export HOME=$PWD GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
git init --quiet --initial-branch=main repository
cd repository
for commit in 1 2 3 4 5 6; do
    for file in 1 2 3 4; do
        seq $commit $file 900 >file$file
        seq 1 $((commit * file)) >>file$file
    done
    export GIT_AUTHOR_DATE="170000000$commit +0000" GIT_COMMITTER_DATE="170000000$commit +0000"
    git add .
    git commit --quiet -m "edit $commit"
done
git gc --quiet
git log -p --stat | sha256sum
git rev-parse HEAD
git grep -c 77 HEAD~3
git fsck --strict 2>&1
git blame file2 | sha256sum
git no-such-command 2>&1 || exit 6
