# SPDX-License-Identifier: MIT
# Counts invented words in hashes and sorts them: strings and hashes, perl's main use. usage: words.pl ROUNDS
use strict;
use warnings;

my $rounds = shift;
my $random = 12345;
my $kept = 0;
for (1 .. $rounds) {
    my %count;
    for (1 .. 20000) {
        $random = ($random * 1103515245 + 12345) % 2147483648;
        my $word = join '', map { chr 97 + ($random >> $_) % 26 } 4, 9, 14;
        $count{$word} .= ":$random";
        $count{"$word-" . ($random >> 20)}++;
    }
    my @sorted = sort { length $count{$b} <=> length $count{$a} || $a cmp $b } keys %count;
    $kept += @sorted;
}
print "$kept\n";
