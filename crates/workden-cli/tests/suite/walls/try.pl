#!/usr/bin/perl
# Calls the kernel by the name of a system call. `held` means that the call itself was refused; an
# error about the arguments means that the kernel got as far as looking at them.
use strict;
use Errno;
my ($name, @words) = @ARGV;
my $number = $ENV{"SYS_$name"} // die "no number for $name";
my @arguments = map { /^-?0x/i ? hex($_) : $_ + 0 } @words;
my $result = syscall($number + 0, @arguments, (0) x (6 - @arguments));
my %refusals = map { $_ => 1 } (Errno::EPERM, Errno::EACCES, Errno::ENOSYS, Errno::ESRCH, Errno::EAFNOSUPPORT,
    Errno::EPROTONOSUPPORT, Errno::ESOCKTNOSUPPORT);
print $result == -1 && $refusals{ $! + 0 } ? "held\n" : "escaped: $name: $result: $!\n";
