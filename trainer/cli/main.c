/*
 * cli/main.c: the program nwhead.
 */
#include <stdio.h>
#include <string.h>

#include "base/message.h"
#include "cli/embed_options.h"
#include "cli/train_options.h"
#include "ort/runtime.h"
#include "run/embed.h"
#include "run/train.h"
#include "run/train_settings.h"

#define VERSION "1.0"

static void
usage(void)
{
	printf("nwhead trains feature extractors for Nadaraya-Watson prediction in PostgreSQL\n"
	       "and fills tables with their embeddings.\n\n"
	       "Usage:\n"
	       "  nwhead train SOURCE --out FILE.onnx [OPTION]...\n"
	       "  nwhead embed --model FILE.onnx SOURCE --table REL [OPTION]...\n"
	       "  nwhead SUBCOMMAND --help\n"
	       "  nwhead --version\n\n"
	       "Exit status: 0 done, 1 failed, 2 wrong usage.\n");
}

int
main(int argc, char **argv)
{
	if (argc < 2)
		nw_usage_error("", "no subcommand given");
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0)
		usage();
	else if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		printf("nwhead %s (ONNX Runtime %s)\n", VERSION, nw_runtime_version());
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
	else
		nw_usage_error("", "unknown subcommand \"%s\"", argv[1]);
	return 0;
}
