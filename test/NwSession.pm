# A psql that stays open: the same on every server, whose own modules differ.
package NwSession;
use strict;
use warnings;
use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(open_session);

# Connect to a node's database postgres.  After an error psql ends, and so does the
# test, unless on_error_stop => 0.
sub open_session
{
	my ($node, %params) = @_;
	my $stop = $params{on_error_stop} // 1;
	my $self = bless { stdin => '', stdout => '', stderr => '', count => 0 }, __PACKAGE__;
	$self->{timeout} = IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default);
	$self->{run} = IPC::Run::start(
		[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-v', "ON_ERROR_STOP=$stop", '-f', '-' ],
		'<' => \$self->{stdin},
		'>' => \$self->{stdout},
		'2>' => \$self->{stderr},
		$self->{timeout});
	$self->query_safe('');
	return $self;
}

# Wait for a pattern in what psql has written to stdout or stderr.
sub _await
{
	my ($self, $stream, $pattern) = @_;
	until ($self->{$stream} =~ $pattern)
	{
		die "psql has ended: $self->{stderr}" unless $self->{run}->pumpable;
		$self->{run}->pump;
	}
	return;
}

# Run statements, and return what they print, without the last newline.  Messages
# are added to {stderr}.
sub query
{
	my ($self, $query) = @_;
	my $end = 'end of query ' . ++$self->{count};
	$self->{timeout}->start;
	$self->{stdin} .= "$query\n;\n\\echo $end\n\\warn $end\n";
	$self->_await($_, qr/^\Q$end\E\n/m) foreach qw(stdout stderr);
	$self->{stderr} =~ s/^\Q$end\E\n//m;
	my $output = $self->{stdout};
	$self->{stdout} = '';
	$output =~ s/\n?^\Q$end\E\n//m;
	note("$query\n$output\n$self->{stderr}") if $query;
	return $output;
}

# The same, where there must be no message.
sub query_safe
{
	my ($self, $query) = @_;
	my $output = $self->query($query);
	die "query failed: $self->{stderr}" if $self->{stderr} ne '';
	return $output;
}

# Begin statements, and wait only until psql prints what matches.
sub query_until
{
	my ($self, $until, $query) = @_;
	$self->{timeout}->start;
	$self->{stdin} .= $query;
	$self->_await('stdout', $until);
	my $output = $self->{stdout};
	$self->{stdout} = '';
	return $output;
}

# Close the session.
sub quit
{
	my ($self) = @_;
	$self->{stdin} .= "\\q\n";
	return $self->{run}->finish;
}

1;
