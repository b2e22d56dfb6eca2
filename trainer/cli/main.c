/*
 * cli/main.c: the program nwhead.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/message.h"
#include "cli/classify_options.h"
#include "cli/embed_options.h"
#include "cli/generate.h"
#include "cli/options.h"
#include "cli/train_options.h"
#include "cli/watch_options.h"
#include "ort/runtime.h"
#include "run/classify.h"
#include "run/embed.h"
#include "run/train.h"
#include "run/train_settings.h"
#include "run/watch.h"

static const NwSubcommand *const commands[] = {&nw_train_command, &nw_embed_command,
                                               &nw_classify_command, &nw_watch_command, NULL};

static void
usage(void)
{
	printf("nwhead trains feature extractors for Nadaraya-Watson prediction in PostgreSQL\n"
	       "fills tables with their embeddings, and says what images are.\n\n"
	       "Usage:\n");
	for (int i = 0; commands[i] != NULL; i++)
		printf("  nwhead %s %s\n", commands[i]->name, commands[i]->synopsis);
	printf("  nwhead SUBCOMMAND --help\n"
	       "  nwhead --version\n"
	       "  nwhead --generate man|bash|zsh\n\n"
	       "Exit status: 0 done, 1 failed, 2 wrong usage.\n");
}

/* Do what is asked for; returns the exit status. */
static int
run(int argc, char **argv)
{
	if (argc < 2)
		nw_usage_error("", "no subcommand given");
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0)
		usage();
	else if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		printf("nwhead %s (ONNX Runtime %s)\n", NW_VERSION, nw_runtime_version());
	else if (strcmp(argv[1], "--generate") == 0)
	{
		if (argc != 3 || !nw_generate(argv[2], NW_VERSION, commands))
			nw_usage_error("", "--generate wants one of man, bash and zsh");
	}
	else if (strcmp(argv[1], "train") == 0)
	{
		NwTrainSettings o;

		nw_train_options(argc - 1, argv + 1, &o);
		return nw_train(&o);
	}
	else if (strcmp(argv[1], "embed") == 0)
	{
		NwEmbedSettings o;

		nw_embed_options(argc - 1, argv + 1, &o);
		return nw_embed(&o);
	}
	else if (strcmp(argv[1], "classify") == 0)
	{
		NwClassifySettings o;

		nw_classify_options(argc - 1, argv + 1, &o);
		return nw_classify(&o);
	}
	else if (strcmp(argv[1], "watch") == 0)
	{
		NwWatchSettings o;

		nw_watch_options(argc - 1, argv + 1, &o);
		return nw_watch(&o);
	}
	else
		nw_usage_error("", "unknown subcommand \"%s\"", argv[1]);
	return 0;
}

int
main(int argc, char **argv)
{
	int status = run(argc, argv);

	/* a full disk shows here at the latest */
	if (fflush(stdout) != 0 || ferror(stdout))
		nw_fatal("could not write to standard output: %s", strerror(errno));
	return status;
}
