# SPDX-License-Identifier: MIT
# complete.zsh BUILD DIRECTORY TEXT - what zsh offers when the tab key is pressed behind TEXT, in that directory.
zmodload zsh/zpty
build=$1 directory=$2 typed=$3
patience=${"$(grep -m1 "define PATIENCE_S" ${0:A:h}/../lib/patience.h)"##* }

drain() # until WORD has been said, or nobody would wait any longer; what was said is in $said
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
# The second key says that the first one has been dealt with.
zpty -w shell 'said() { zle -M ANSWERED }; zle -N said; bindkey "^X" said; echo RE""ADY'
drain READY || exit 1
zpty -w -n shell "$typed"$'\t'$'\C-x'
drain ANSWERED
print -r -- $said
zpty -d shell
