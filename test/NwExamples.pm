# The examples of documents: cut out, run in a fresh database, compared with what the
# document shows, and counted.
package NwExamples;
use strict;
use warnings;
use Exporter 'import';
use File::Temp qw(tempfile);

our @EXPORT = qw(check finish slurp psql pieces write_pieces check_visible
	database make_database run_command check_output);

my ($passed, $failed) = (0, 0);
my $scratch = "nwhead_docs_$$";

# Count a check; print what to know about a failure.  The prototype keeps a match
# that fails from being an empty list.
sub check($$;$)
{
	my ($ok, $name, $details) = @_;

	if ($ok)
	{
		$passed++;
		return;
	}
	$failed++;
	print "not ok: $name\n";
	print map { "    $_\n" } split /\n/, $details if defined $details;
}

# Print the counts, and end with the status they mean.
sub finish
{
	drop_database();
	print "$passed passed, $failed failed\n";
	exit($failed ? 1 : 0);
}

# Read a file.
sub slurp
{
	my ($path) = @_;

	open my $file, '<:raw', $path or return undef;
	local $/;
	my $text = <$file>;
	close $file;
	return $text;
}

# Run a command with a file as its input; return what it prints, errors included.
sub run_command
{
	my ($input, @command) = @_;
	my $pid = open(my $out, '-|') // die "fork: $!\n";

	if (!$pid)
	{
		open STDIN, '<', $input or die "$input: $!\n";
		open STDERR, '>&', \*STDOUT or die "stderr: $!\n";
		exec @command;
		die "$command[0]: $!\n";
	}
	local $/;
	my $text = <$out> // '';
	close $out;
	return $text;
}

# Run SQL in a database; return what psql prints, errors included.
sub psql
{
	my ($database, $sql, @options) = @_;
	my ($file, $path) = tempfile(UNLINK => 1);
	local $ENV{PGTZ} = 'UTC';
	local $ENV{PGDATABASE} = $database;

	print $file $sql;
	close $file;
	my $text = run_command($path, 'psql', '-X', '-q', '-P', 'pager=off', @options);
	unlink $path;
	return $text;
}

# Drop the results of void functions, trailing blanks, and blank lines at the end.
sub trim
{
	my ($text) = @_;

	$text =~ s/[ \t]+$//mg;
	$text =~ s/^ *nw_(?:register|register_mixture|alter_set|unregister|set_tau)\n-+\n\n+\(\d+ rows?\)\n\n?//mg;
	$text =~ s/\n+\z//;
	return $text;
}

# Cut a document into pieces: prose, and fenced blocks with their language.
sub pieces
{
	my ($path) = @_;
	my $text = slurp($path) // die "$path: $!\n";
	my @pieces;
	my $line = 1;

	while ($text =~ /\G(.*?)^```([^\n]*)\n(.*?)^```[ \t]*$/gcms)
	{
		my ($prose, $language, $body) = ($1, $2, $3);

		$line += ($prose =~ tr/\n//);
		push @pieces, { prose => $prose },
			{ language => $language, body => $body, line => $line };
		$line += ($body =~ tr/\n//) + 1;
	}
	$text =~ /\G(.*)\z/gs;
	push @pieces, { prose => $1 };
	return @pieces;
}

# Write a document whose output was accepted.
sub write_pieces
{
	my ($path, @pieces) = @_;

	open my $file, '>:raw', $path or die "$path: $!\n";
	print $file exists $_->{prose} ? $_->{prose} :
		"```$_->{language}\n$_->{body}```" for @pieces;
	close $file;
	print "$path: output accepted\n";
}

# Look for examples that a reader would not see.
sub check_visible
{
	my ($path) = @_;
	my @hidden = grep { /^```/m } slurp($path) =~ /<!--(.*?)-->/gs;

	check(!@hidden, "$path: no example is hidden in a comment", $hidden[0]);
}

# Name the database that examples run in.
sub database
{
	return $scratch;
}

# Make it afresh.
sub make_database
{
	my ($out) = psql('postgres', "DROP DATABASE IF EXISTS $scratch;\n" .
		"CREATE DATABASE $scratch TEMPLATE template0;\n", '-v', 'ON_ERROR_STOP=1');
	die $out if $out =~ /ERROR|FATAL|psql: error/;
}

# Drop it.
sub drop_database
{
	psql('postgres', "DROP DATABASE IF EXISTS $scratch;\n");
}

# Compare output with the ```text block that follows an example.  Where output is
# accepted, put it there; tell whether that changed the block.
sub check_output
{
	my ($name, $output, $next, $accept) = @_;
	my $expected = trim($next->{body});

	$output = trim($output);
	check($accept || $output eq $expected, $name, "expected:\n$expected\ngot:\n$output");
	return 0 unless $accept && "$output\n" ne $next->{body};
	$next->{body} = "$output\n";
	return 1;
}

1;
