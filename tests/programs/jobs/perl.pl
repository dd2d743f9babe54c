# SPDX-License-Identifier: MIT
# Hashes of arrays, closures, sorting, formats, a fork with a pipe; ends with status 4.
use strict;
use warnings;

my ($random, %count, @sum) = (1);
for my $i (1 .. 15000) {
    $random = ($random * 1103515245 + 12345) % 2147483648;
    my $word = join '', map { chr 97 + ($random >> $_) % 26 } 4, 9, 14;
    push @{$count{$word}}, sub { $i * length $word };
}
for my $word (sort { @{$count{$b}} <=> @{$count{$a}} || $a cmp $b } keys %count) {
    my $total = 0;
    $total += $_->() for @{$count{$word}};
    push @sum, sprintf '%s:%d', $word, $total;
}
open my $child, '-|' or exec 'sh', '-c', 'printf "%s\n" one two three' or die;
my @lines = <$child>;
close $child;
print scalar @sum, ' ', join(',', @sum[0 .. 9]), ' ', unpack('%32C*', join '', @sum), ' ', scalar @lines, "\n";
exit 4;
