#!/usr/bin/perl
#
# Judge META.json by version 1.0.0 of PGXN's specification: test/package/meta.pl [FOLDER]
#
# Prints "ok" or "not ok" for each rule.

use strict;
use warnings;

use JSON::PP;

my $root = $ARGV[0] // '.';
my $number = qr/(?:0|[1-9][0-9]*)/;
my $semver = qr/^$number\.$number\.$number(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;
my $term = qr/^[^\s\/\\\x00-\x1f]{2,}$/;
my $failed = 0;

sub check
{
	my ($ok, $name) = @_;

	print $ok ? "ok - META.json: $name\n" : "not ok - META.json: $name\n";
	$failed ||= !$ok;
}

# A text that says something.
sub text { return defined $_[0] && !ref $_[0] && $_[0] =~ /\S/ }

# The elements of a list, or the one that may stand for it.
sub list { return ref $_[0] eq 'ARRAY' ? @{ $_[0] } : ($_[0] // ()) }

open my $in, '<:raw', "$root/META.json" or die "META.json: $!\n";
my $meta = eval { decode_json(do { local $/; <$in> }) };
check(ref $meta eq 'HASH', 'is an object of JSON');
exit 1 if ref $meta ne 'HASH';

check(text($meta->{$_}), "has $_") for qw(name version abstract license description generated_by);
check(defined $meta->{$_}, "has $_") for qw(maintainer provides meta-spec);
check($meta->{name} =~ $term, 'the name is a term');
check($meta->{version} =~ $semver, 'the version is a semantic one');
my @maintainers = list($meta->{maintainer});
check(@maintainers > 0 && !(grep { !/^[^<>]*\S <[^<>\s]+\@[^<>\s]+\.[^<>\s]+>$/ } @maintainers),
	'each maintainer has an e-mail address');
check($meta->{license} =~ /^(?:apache_2_0|bsd|gpl_[123]|lgpl_[23]_[01]|mit|mozilla_1_[01]|postgresql)$/,
	'the license is one of those known');
check(($meta->{release_status} // '') =~ /^(?:stable|testing|unstable)$/, 'the release status is known');
check(($meta->{'meta-spec'}{version} // '') eq '1.0.0', 'the specification has a version');
check(($meta->{'meta-spec'}{url} // '') =~ m{^https?://pgxn\.org/meta/spec\.txt$}, 'and an address');
check(($meta->{resources}{homepage} // '') =~ m{^https?://\S+$}, 'resources have a home page');
my @tags = list($meta->{tags});
check(@tags > 0 && !(grep { !text($_) || length > 256 } @tags), 'tags');

my %known = map { $_ => 1 } qw(name version abstract maintainer license provides meta-spec description
  generated_by tags no_index prereqs release_status resources);
my @unknown = grep { !$known{$_} && !/^x_/i } sort keys %$meta;
check(!@unknown, "nothing that the specification does not know: @unknown");

my $provides = $meta->{provides};
check(join(' ', sort keys %$provides) eq 'nwhead', 'provides the extension');
for my $name (sort keys %$provides)
{
	my $it = $provides->{$name};

	check(text($it->{file}) && -e "$root/$it->{file}", "the file of $name exists");
	check(text($it->{docfile}) && -e "$root/$it->{docfile}", "the document of $name exists");
	check(($it->{version} // '') eq $meta->{version}, "$name has the version of the whole");
}

for my $phase (qw(build runtime test))
{
	my $requires = $meta->{prereqs}{$phase}{requires} // {};

	check(!(grep { $_ !~ $semver } values %$requires) && ($requires->{PostgreSQL} // '') =~ /^15\./,
		"$phase wants PostgreSQL 15");
}
check(($meta->{prereqs}{runtime}{requires}{vector} // '') eq '0.7.0', 'runtime wants pgvector 0.7.0');

my @stray = grep { !/^(?:configure|build|test|runtime|develop)$/ } keys %{ $meta->{prereqs} };
check(!@stray, 'phases are those known');
exit $failed;
