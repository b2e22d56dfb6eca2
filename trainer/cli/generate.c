/*
 * cli/generate.c: the manual page and the completions of shells, out of the options.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/message.h"
#include "base/text.h"
#include "cli/generate.h"
#include "cli/options.h"

/* Tell whether the value of an option is a file, or begins with one. */
static bool
is_file(const NwOption *o)
{
	return o->value != NULL && strncmp(o->value, "FILE", 4) == 0;
}

/* Tell whether the value of an option is a folder. */
static bool
is_folder(const NwOption *o)
{
	return o->value != NULL && strcmp(o->value, "DIR") == 0;
}

/* ---------------------------------------------------------------- manual page */

/* Print text as it is to be read, whatever roff makes of its characters. */
static void
roff(const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", stdout);
	for (; *text; text++)
		switch (*text)
		{
			case '\\':
				fputs("\\e", stdout);
				break;
			case '-':
				fputs("\\-", stdout);
				break;
			case '\'':
				fputs("\\(aq", stdout);
				break;
			default:
				putchar(*text);
		}
}

/* Print a line of the page in a font: B, I or R. */
static void
roff_font(char font, const char *text)
{
	printf("\\f%c", font);
	roff(text);
	fputs("\\fR", stdout);
}

/* Print the options of a subcommand, section by section. */
static void
man_options(const NwSubcommand *command)
{
	const NwOption *o;

	for (int i = 0; (o = nw_option(command, i)) != NULL; i++)
	{
		char *text;

		if (o->name == NULL)
		{
			printf(".SS ");
			roff(o->help);
			putchar('\n');
			continue;
		}
		printf(".TP\n\\fB\\-\\-");
		roff(nw_option_name(command, o));
		printf("\\fR");
		if (o->value != NULL)
		{
			putchar(' ');
			roff_font('I', o->value);
		}
		putchar('\n');
		text = nw_option_text(o);
		roff(text);
		putchar('\n');
		free(text);
	}
}

/* Print the day the page was made on; SOURCE_DATE_EPOCH makes builds repeatable. */
static void
man_date(void)
{
	const char *given = getenv("SOURCE_DATE_EPOCH");
	char *end = NULL;
	time_t now = given ? (time_t) strtoll(given, &end, 10) : time(NULL);
	struct tm day;
	char text[32];

	if ((given && (end == given || *end != '\0')) || gmtime_r(&now, &day) == NULL ||
	    strftime(text, sizeof(text), "%Y-%m-%d", &day) == 0)
		nw_fatal("SOURCE_DATE_EPOCH is not a number of seconds: \"%s\"", given ? given : "");
	fputs(text, stdout);
}

static void
man(const char *version, const NwSubcommand *const *commands)
{
	printf(".TH NWHEAD 1 ");
	man_date();
	printf(" \"nwhead %s\" \"User Commands\"\n"
	       ".SH NAME\n"
	       "nwhead \\- embeddings of images for Nadaraya\\-Watson prediction in PostgreSQL\n"
	       ".SH SYNOPSIS\n",
	       version);
	for (int i = 0; commands[i] != NULL; i++)
	{
		printf("\\fBnwhead %s\\fR ", commands[i]->name);
		roff(commands[i]->synopsis);
		printf("\n.br\n");
	}
	printf(
		"\\fBnwhead \\-\\-help\\fR | \\fB\\-\\-version\\fR | \\fB\\-\\-generate\\fR \\fIKIND\\fR\n"
		".SH DESCRIPTION\n"
		"nwhead makes the embeddings that the PostgreSQL extension of the same name predicts "
		"from.\n"
		".TP\n\\fB\\-\\-generate\\fR \\fIKIND\\fR\n"
		"Print this page (man), or what a shell completes command lines with (bash, zsh).\n");
	for (int i = 0; commands[i] != NULL; i++)
	{
		printf(".SH ");
		for (const char *c = commands[i]->name; *c; c++)
			putchar(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
		printf("\n\\fBnwhead %s\\fR: ", commands[i]->name);
		roff(commands[i]->purpose);
		printf(".\n");
		man_options(commands[i]);
	}
	printf(".SH EXIT STATUS\n0 done, 1 failed or interrupted, 2 wrong usage.\n"
	       ".SH ENVIRONMENT\n"
	       ".TP\n\\fBNWHEAD_DEBUG\\fR\nWhere this is set, messages of ONNX Runtime and of drivers "
	       "are shown.\n"
	       ".TP\n\\fBPGHOST\\fR, \\fBPGDATABASE\\fR and so on\nHow to connect, as for every "
	       "program of PostgreSQL.\n"
	       ".SH EXAMPLES\n.nf\n"
	       "nwhead train \\-\\-images birds/train \\-\\-arch resnet18 \\-\\-out birds.onnx\n"
	       "nwhead embed \\-\\-model birds.onnx \\-\\-images birds/train \\-\\-dsn dbname=shop "
	       "\\-\\-table birds \\-\\-set birds\n"
	       "nwhead classify new.jpg \\-\\-model birds.onnx \\-\\-dsn dbname=shop \\-\\-set birds\n"
	       ".fi\n"
	       ".SH SEE ALSO\n\\fBpsql\\fR(1)\n");
}

/* ---------------------------------------------------------------- bash */

/* Print the names of the options that pass a test, with something between them. */
static void
names(const NwSubcommand *command, bool (*test)(const NwOption *), const char *between)
{
	const NwOption *o;
	const char *sep = "";

	for (int i = 0; (o = nw_option(command, i)) != NULL; i++)
		if (o->name != NULL && (test == NULL || test(o)))
		{
			printf("%s--%s", sep, nw_option_name(command, o));
			sep = between;
		}
}

/* Tell whether an option must have a value, which cannot be completed. */
static bool
is_free(const NwOption *o)
{
	return nw_option_argument(o) == required_argument && o->word == NULL && !is_file(o) &&
	       !is_folder(o);
}

/* Print the values that an option can have, with blanks between them. */
static void
print_words(const NwOption *o)
{
	for (int i = 0; o->word(i) != NULL; i++)
		printf("%s%s", i > 0 ? " " : "", o->word(i));
}

/* Print what is done behind options that pass a test, where there are such. */
static void
bash_case(const NwSubcommand *command, bool (*test)(const NwOption *), const char *what)
{
	const NwOption *o;
	bool any = false;

	for (int i = 0; (o = nw_option(command, i)) != NULL; i++)
		any |= o->name != NULL && test(o);
	if (!any)
		return;
	printf("\t\t");
	names(command, test, " | ");
	printf(") %s ;;\n", what);
}

static void
bash_command(const NwSubcommand *command)
{
	const NwOption *o;

	printf("\t%s)\n\t\tcase $before in\n", command->name);
	bash_case(command, is_file, "_nwhead_paths -f && return");
	bash_case(command, is_folder, "_nwhead_paths -d && return");
	bash_case(command, is_free, "return");
	for (int i = 0; (o = nw_option(command, i)) != NULL; i++)
		if (o->name != NULL && o->word != NULL)
		{
			printf("\t\t--%s) words=\"", nw_option_name(command, o));
			print_words(o);
			printf("\" ;;\n");
		}
	printf("\t\t*) words=\"");
	names(command, NULL, " ");
	printf("\" ;;\n\t\tesac\n");
	if (command->operands != NULL)
		printf("\t\t[[ $word = -?* || $words != *--model* ]] || { _nwhead_paths -f && return; }\n");
	printf("\t\t;;\n");
}

static void
bash(const NwSubcommand *const *commands)
{
	printf("# bash completion of nwhead; made by \"nwhead --generate bash\"\n\n"
	       "# Complete the word as a path.\n"
	       "_nwhead_paths() {\n"
	       "\tlocal IFS=$'\\n'\n"
	       "\tcompopt -o filenames 2>/dev/null\n"
	       "\tCOMPREPLY=($(compgen \"$1\" -- \"$word\"))\n"
	       "\treturn 0\n"
	       "}\n\n"
	       "_nwhead() {\n"
	       "\tlocal word=${COMP_WORDS[COMP_CWORD]} at=$((COMP_CWORD - 1)) before words\n"
	       "\tCOMPREPLY=()\n"
	       "\t# \"--option=value\" comes as three words\n"
	       "\tif [[ $word = = ]]; then\n"
	       "\t\tword=\n"
	       "\telif [[ ${COMP_WORDS[at]} = = ]]; then\n"
	       "\t\tat=$((at - 1))\n"
	       "\tfi\n"
	       "\tbefore=${COMP_WORDS[at]}\n"
	       "\t# --idx and --val-idx take two files\n"
	       "\tif ((at > 1)) && [[ ${COMP_WORDS[at - 1]} = --*idx ]]; then\n"
	       "\t\tbefore=${COMP_WORDS[at - 1]}\n"
	       "\tfi\n"
	       "\tif ((COMP_CWORD == 1)); then\n"
	       "\t\tbefore=\n"
	       "\tfi\n"
	       "\tcase ${COMP_WORDS[1]}:$before in\n"
	       "\t*:) words=\"");
	for (int i = 0; commands[i] != NULL; i++)
		printf("%s ", commands[i]->name);
	printf("--help --version --generate\" ;;\n"
	       "\t--generate:--generate) words=\"man bash zsh\" ;;\n"
	       "\tesac\n"
	       "\t[[ -n $words ]] || case ${COMP_WORDS[1]} in\n");
	for (int i = 0; commands[i] != NULL; i++)
		bash_command(commands[i]);
	printf("\tesac\n"
	       "\tCOMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
	       "}\n\n"
	       "complete -F _nwhead nwhead\n");
}

/* ---------------------------------------------------------------- zsh */

/* Print a description between the brackets of _arguments, within single quotes. */
static void
zsh_text(const char *text)
{
	for (; *text; text++)
	{
		if (*text == '\'')
			fputs("'\\''", stdout);
		else if (strchr("[]\\:", *text) != NULL)
			printf("\\%c", *text);
		else
			putchar(*text);
	}
}

static void
zsh_command(const NwSubcommand *command)
{
	const NwOption *o;

	printf("\t%s)\n\t\t_arguments", command->name);
	for (int i = 0; (o = nw_option(command, i)) != NULL; i++)
	{
		char *text;

		if (o->name == NULL)
			continue;
		text = nw_option_text(o);
		printf(" \\\n\t\t\t'--%s[", nw_option_name(command, o));
		zsh_text(text);
		putchar(']');
		free(text);
		if (o->word != NULL)
		{
			printf(":%s:(", o->value);
			print_words(o);
			putchar(')');
		}
		else if (o->value != NULL && strcmp(o->value, "FILE FILE") == 0)
			printf(":images:_files:labels:_files");
		else if (o->value != NULL)
			printf("%s:%s:%s", nw_option_argument(o) == optional_argument ? ":" : "", o->value,
			       is_file(o)     ? "_files"
			       : is_folder(o) ? "_files -/"
			                      : " ");
		putchar('\'');
	}
	if (command->operands != NULL)
		printf(" \\\n\t\t\t'*:%s:_files'", command->operands);
	printf("\n\t\t;;\n");
}

static void
zsh(const NwSubcommand *const *commands)
{
	printf("#compdef nwhead\n"
	       "# zsh completion of nwhead; made by \"nwhead --generate zsh\"\n\n"
	       "local context state state_descr line\n"
	       "typeset -A opt_args\n\n"
	       "_arguments -C \\\n"
	       "\t'(- *)--help[show help]' \\\n"
	       "\t'(- *)--version[show the version]' \\\n"
	       "\t'(- *)--generate[print a manual page or a completion]:kind:(man bash zsh)' \\\n"
	       "\t'1:subcommand:((");
	for (int i = 0; commands[i] != NULL; i++)
	{
		printf("%s%s\\:\"", i > 0 ? " " : "", commands[i]->name);
		zsh_text(commands[i]->purpose);
		putchar('"');
	}
	printf("))' \\\n"
	       "\t'*::options:->options' && return\n\n"
	       "case $words[1] in\n");
	for (int i = 0; commands[i] != NULL; i++)
		zsh_command(commands[i]);
	printf("esac\n");
}

/* Print the manual page or the completion of a shell; false where there is no such thing. */
bool
nw_generate(const char *what, const char *version, const NwSubcommand *const *commands)
{
	if (strcmp(what, "man") == 0)
		man(version, commands);
	else if (strcmp(what, "bash") == 0)
		bash(commands);
	else if (strcmp(what, "zsh") == 0)
		zsh(commands);
	else
		return false;
	return true;
}
