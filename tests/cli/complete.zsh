# SPDX-License-Identifier: MIT
# complete.zsh BUILD DIRECTORY TEXT - prints what zsh offers for the tab key after TEXT, in DIRECTORY.
zmodload zsh/zpty
build=$1 directory=$2 typed=$3
patience=${"$(grep -m1 "define PATIENCE_S" ${0:A:h}/../lib/patience.h)"##* }

drain() # drain WORD: reads until WORD arrives or the time limit is over; leaves the text in $said
{
    local piece until=$((SECONDS + patience))
    said=
    while ((SECONDS < until)); do
        if zpty -r -t shell piece; then
            said+=$piece
            [[ $said != *$1* ]] || return 0
        else
            sleep 0.05
        fi
    done
    return 1
}

zpty shell zsh -f -i
zpty -w shell "stty -echo columns 200; PS1=; TERM=dumb; LISTMAX=1000; cd ${(q)directory}"
zpty -w shell "path=(${(q)build} \$path); fpath=(${(q)build}/completion \$fpath); autoload -Uz compinit; compinit -u -D"
# The second key (^X) prints ANSWERED, which proves that zsh has handled the first one (tab).
zpty -w shell 'said() { zle -M ANSWERED }; zle -N said; bindkey "^X" said; echo RE""ADY'
drain READY || exit 1
zpty -w -n shell "$typed"$'\t'$'\C-x'
drain ANSWERED
print -r -- $said
zpty -d shell
